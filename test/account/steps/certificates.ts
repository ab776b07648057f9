/** An https Service with certificates from all sources. */
import { deepStrictEqual, equal, ok } from "node:assert/strict";
import type { Certificate } from "../../../controller/hcloud/api.ts";
import { ignoreMissing } from "../../../dev-env/cluster/api.ts";
import { aPair, aTlsSecret } from "../../support/certificates.ts";
import type { Stage } from "../stage.ts";
import type { Step } from "./step.ts";

const SERVICE = "https";
const PORTS = { ports: [{ name: "p443", port: 443 }] };
const SECRET = "lotse-test-tls";
const UPLOADED = "lotse-test-uploaded";
const MANAGED = "lotse-test-managed";
/** Issuance takes minutes. */
const ISSUANCE_MS = 600_000;
/** No zone of this domain can exist: the name is reserved. */
const NO_DOMAIN = "lotse-test.fail.example";

/** Ids of the certificates on the listener, which must use https. */
async function presented(stage: Stage): Promise<readonly number[]> {
  const [first] = (await stage.balancer(SERVICE)).services;
  equal(first?.protocol, "https");
  return (first?.http?.certificates ?? []).toSorted();
}

const owned = async (stage: Stage): Promise<readonly Certificate[]> =>
  stage.certificates((await stage.service(SERVICE)).metadata?.uid ?? "");

async function putSecret({ parts: { core, namespace } }: Stage, serial: number): Promise<void> {
  const { data, type } = aTlsSecret(SECRET, aPair({ serial }));
  await core.deleteNamespacedSecret({ namespace, name: SECRET }).catch(ignoreMissing);
  await core.createNamespacedSecret({
    namespace,
    body: { metadata: { name: SECRET }, ...(data && { data }), ...(type && { type }) },
  });
}

/** Waits until the listener presents only the certificate that the controller made of the Secret. */
async function servesSecret(stage: Stage, previous?: number): Promise<number> {
  return stage.until("the certificate of the Secret is presented", async () => {
    const [only, ...others] = await owned(stage);
    deepStrictEqual(others, []);
    ok(only && only.id !== previous, "there is no new certificate");
    deepStrictEqual(await presented(stage), [only.id]);
    return only.id;
  });
}

async function issue(stage: Stage): Promise<void> {
  const { domain } = stage.parts;
  const annotations = {
    protocol: "https",
    "certificate-type": "managed",
    "http-managed-certificate-name": MANAGED,
    "http-managed-certificate-domains": domain ?? NO_DOMAIN,
    "http-managed-certificate-acme-staging": "true",
  };
  await stage.apply(SERVICE, annotations, PORTS);
  const id = await stage.until("the certificate is requested", async () => {
    const managed = (await owned(stage)).find(({ type }) => type === "managed");
    equal(managed?.name, MANAGED);
    equal(managed?.labels["HC-Use-Staging-CA"], "true");
    return managed?.id ?? 0;
  });
  if (domain === undefined) {
    await stage.untilEvent("an Event says why there is no certificate", SERVICE, /^CertificateNotReady: .*zone/);
  } else {
    const isServed = async () => deepStrictEqual(await presented(stage), [id]);
    await stage.until("the issued certificate is presented", isServed, ISSUANCE_MS);
  }
}

export const CERTIFICATE_STEPS: readonly Step[] = [
  {
    id: "https",
    title: "An https listener presents an uploaded certificate by name, and redirects http.",
    needs: "project",
    annotations: ["protocol", "http-certificates", "http-redirect-http"],
    service: SERVICE,
    run: async (stage) => {
      const { certificate, privateKey } = aPair({ serial: 1 });
      const upload = { name: UPLOADED, certificate, private_key: privateKey };
      const made = await stage.machines.api.send<{ certificate: Certificate }>("POST", "/certificates", upload);
      await stage.apply(
        SERVICE,
        { protocol: "https", "http-certificates": UPLOADED, "http-redirect-http": "true" },
        PORTS,
      );
      await stage.until("the certificate is presented", async () => {
        deepStrictEqual(await presented(stage), [made.certificate.id]);
        const [first] = (await stage.balancer(SERVICE)).services;
        equal(first?.http?.redirect_http, true);
      });
    },
  },
  {
    id: "https-secret",
    title: "A TLS Secret is uploaded and presented, and replaced when it is renewed.",
    needs: "project",
    annotations: ["tls-secret"],
    service: SERVICE,
    after: "https",
    run: async (stage) => {
      await putSecret(stage, 2);
      await stage.apply(SERVICE, { protocol: "https", "tls-secret": SECRET }, PORTS);
      const first = await servesSecret(stage);
      await putSecret(stage, 3);
      await servesSecret(stage, first);
    },
  },
  {
    id: "https-managed",
    title: "A managed certificate is issued and presented; without `--domain`, an Event says why it is not.",
    needs: "project",
    annotations: [
      "certificate-type",
      "http-managed-certificate-name",
      "http-managed-certificate-domains",
      "http-managed-certificate-acme-staging",
    ],
    service: SERVICE,
    after: "https",
    run: issue,
  },
  {
    id: "https-deletion",
    title: "Certificates made for a Service are removed with it, and others stay.",
    needs: "project",
    service: SERVICE,
    after: "https",
    run: async (stage) => {
      const uid = (await stage.service(SERVICE)).metadata?.uid ?? "";
      await stage.remove(SERVICE);
      await stage.until("its certificates are gone", async () => deepStrictEqual(await stage.certificates(uid), []));
      const names = (await stage.cloud.list("certificates")).map(({ name }) => name);
      ok(names.includes(UPLOADED), `certificates: ${names.join(", ")}`);
    },
  },
];
