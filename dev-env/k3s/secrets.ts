/** What an environment keeps to itself: keys, tokens, a passphrase. Made once, before anything that needs them exists. */
import { randomBytes } from "node:crypto";
import ssh2 from "ssh2";

/** A key pair in OpenSSH's formats. */
export interface KeyPair {
  readonly publicKey: string;
  readonly privateKey: string;
}

export interface Secrets {
  /** Opens the servers. */
  readonly sshKey: KeyPair;
  /** The control plane's own key: made here, so that the very first connection can be checked against it. */
  readonly hostKey: KeyPair;
  /** Lets a machine join the cluster. */
  readonly k3sToken: string;
  /** Encrypts secret values in the states. */
  readonly passphrase: string;
}

/** New secrets for an environment. */
export function makeSecrets(environment: string): Secrets {
  return {
    sshKey: makeKey(environment),
    hostKey: makeKey(`${environment} host`),
    k3sToken: randomBytes(32).toString("hex"),
    passphrase: randomBytes(32).toString("base64url"),
  };
}

function makeKey(comment: string): KeyPair {
  const { public: publicKey, private: privateKey } = ssh2.utils.generateKeyPairSync("ed25519", { comment });
  return { publicKey, privateKey };
}
