/** Access control of a NATS server: certificates for TLS, and accounts whose users present a signed credential. */
import { join } from 'node:path';
import { nkeys } from '@nats-io/transport-node';

const folder = join(import.meta.dirname, 'certificates');

/** A test authority issued the certificates for 127.0.0.1, valid until 2126. */
export const CERTIFICATES = {
  ca: join(folder, 'ca.pem'),
  client: join(folder, 'client.pem'),
  clientKey: join(folder, 'client-key.pem'),
} as const;

export const TLS_OF_SERVER = `tls { cert_file: "${join(folder, 'server.pem')}", key_file: "${join(folder, 'server-key.pem')}", ca_file: "${CERTIFICATES.ca}", verify: true }`;

const NO_LIMIT = -1;
const LIMITS = Object.fromEntries(
  [
    'subs',
    'data',
    'payload',
    'imports',
    'exports',
    'conn',
    'leaf',
    'mem_storage',
    'disk_storage',
    'streams',
    'consumer',
  ].map((name) => [name, NO_LIMIT]),
);

type KeyPair = ReturnType<typeof nkeys.createOperator>;

function signed(subject: KeyPair, issuer: KeyPair, claims: Readonly<Record<string, unknown>>): string {
  const iat = Math.floor(Date.now() / 1000);
  const sub = subject.getPublicKey();
  const payload = {
    jti: `${sub}-${iat}`,
    iat,
    iss: issuer.getPublicKey(),
    name: sub,
    sub,
    nats: { version: 2, ...claims },
  };
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ typ: 'JWT', alg: 'ed25519-nkey' })}.${part(payload)}`;
  return `${text}.${Buffer.from(issuer.sign(Buffer.from(text))).toString('base64url')}`;
}

export function signedAccounts(): { readonly access: string; readonly credentials: string } {
  const operator = nkeys.createOperator();
  const [system, account] = [nkeys.createAccount(), nkeys.createAccount()];
  const user = nkeys.createUser();
  const ofAccount = (each: KeyPair, limits: object) =>
    `${each.getPublicKey()}: ${signed(each, operator, { type: 'account', limits: { wildcards: true, ...limits } })}`;
  const { mem_storage: _, disk_storage: __, streams: ___, consumer: ____, ...ofSystem } = LIMITS;
  const jwt = signed(user, account, {
    type: 'user',
    subs: NO_LIMIT,
    data: NO_LIMIT,
    payload: NO_LIMIT,
    pub: {},
    sub: {},
  });
  const seed = new TextDecoder().decode(user.getSeed());
  return {
    access: [
      `operator: ${signed(operator, operator, { type: 'operator' })}`,
      `system_account: ${system.getPublicKey()}`,
      'resolver: MEMORY',
      `resolver_preload: { ${ofAccount(system, ofSystem)}, ${ofAccount(account, LIMITS)} }`,
    ].join('\n'),
    credentials: [
      '-----BEGIN NATS USER JWT-----',
      jwt,
      '------END NATS USER JWT------',
      '',
      '-----BEGIN USER NKEY SEED-----',
      seed,
      '------END USER NKEY SEED------',
      '',
    ].join('\n'),
  };
}
