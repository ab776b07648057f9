/** Keys and tokens of an environment. They are created once, before any resource needs them. */
import { randomBytes } from "node:crypto";
import ssh2 from "ssh2";

/** A key pair in OpenSSH's formats. */
export interface KeyPair {
  readonly publicKey: string;
  readonly privateKey: string;
}

/** The secrets of an environment. */
export interface Secrets {
  /** Opens the servers. */
  readonly sshKey: KeyPair;
  /** The control planes' host key. It is created here, so that the very first connection can be checked. */
  readonly hostKey: KeyPair;
  /** Lets a machine join the cluster. */
  readonly k3sToken: string;
  /** Encrypts secret values in states and configurations. */
  readonly passphrase: string;
}

/** Creates secrets. */
export function makeSecrets(environment: string): Secrets {
  return {
    sshKey: makeKey(environment),
    hostKey: makeKey(`${environment} host`),
    k3sToken: randomBytes(32).toString("hex"),
    passphrase: randomBytes(32).toString("base64url"),
  };
}

/** The library cuts off a leading zero, so that one key in 256 is malformed: then it makes another. */
function makeKey(comment: string): KeyPair {
  const { public: publicKey, private: privateKey } = ssh2.utils.generateKeyPairSync("ed25519", { comment });
  return ssh2.utils.parseKey(publicKey) instanceof Error ? makeKey(comment) : { publicKey, privateKey };
}
