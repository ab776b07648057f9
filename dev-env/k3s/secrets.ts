/** Keys and tokens of an environment. They are created once, before any resource needs them. */
import { randomBytes } from "node:crypto";
import ssh2 from "ssh2";

/** A key pair in OpenSSH's formats. */
export interface KeyPair {
  readonly publicKey: string;
  readonly privateKey: string;
}

/** The secrets of an environment. */
export type Secrets = ReturnType<typeof makeSecrets>;

/** Creates secrets. */
export function makeSecrets(environment: string) {
  return {
    /** Opens the servers. */
    sshKey: makeKey(environment),
    /** The control planes' host key. It is created here, so that the very first connection can be checked. */
    hostKey: makeKey(`${environment} host`),
    /** Lets a machine join the cluster. */
    k3sToken: randomBytes(32).toString("hex"),
    /** Encrypts secret values in states and configurations. */
    passphrase: randomBytes(32).toString("base64url"),
  } as const;
}

/** The library cuts off a leading zero, so that one key in 256 is malformed: then it makes another. */
function makeKey(comment: string): KeyPair {
  const { public: publicKey, private: privateKey } = ssh2.utils.generateKeyPairSync("ed25519", { comment });
  return ssh2.utils.parseKey(publicKey) instanceof Error ? makeKey(comment) : { publicKey, privateKey };
}
