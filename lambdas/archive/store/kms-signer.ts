import { KMSClient, SignCommand } from '@aws-sdk/client-kms';
import { invariant } from '../../kernel/invariant.ts';
import type { Sign } from '../use/write-manifests.ts';

const REQUEST_TIMEOUT_MS = 5_000;

/** Creates a client with the SDK's default retries. Retries are safe: the same hash may be signed twice. */
export function kmsClient(): KMSClient {
  return new KMSClient({ requestHandler: { requestTimeout: REQUEST_TIMEOUT_MS, throwOnRequestTimeout: true } });
}

/** Signs with an asymmetric KMS key (`ECC_NIST_P256`, `SIGN_VERIFY`). The key never leaves KMS. */
export function kmsSigner(client: KMSClient, key: string): Sign {
  return async (hash) => {
    const { Signature } = await client.send(
      new SignCommand({ KeyId: key, Message: hash, MessageType: 'DIGEST', SigningAlgorithm: 'ECDSA_SHA_256' }),
    );
    invariant(Signature !== undefined, 'KMS returned no signature');
    return Signature;
  };
}
