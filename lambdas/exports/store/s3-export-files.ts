import { createHash, createHmac } from 'node:crypto';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  NotFound,
  S3Client,
  S3ServiceException,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { AmbiguousError } from '../../kernel/faults.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { FilePart } from '../domain/data-export.ts';
import type { ExportFiles } from '../use/exports.ts';

/** A part has 5 MiB. */
const REQUEST_TIMEOUT_MS = 30_000;
const CONNECTION_TIMEOUT_MS = 1_000;
const ATTEMPTS = 3;

export function s3Client(): S3Client {
  return new S3Client({
    maxAttempts: ATTEMPTS,
    // The local AWS has no domain for each bucket.
    forcePathStyle: true,
    requestHandler: {
      requestTimeout: REQUEST_TIMEOUT_MS,
      throwOnRequestTimeout: true,
      connectionTimeout: CONNECTION_TIMEOUT_MS,
    },
  });
}

/** The files of exports in S3. A repeated call has no further effect, so the client retries. */
export class S3ExportFiles implements ExportFiles {
  readonly #client: S3Client;
  readonly #bucket: string;

  constructor(client: S3Client, bucket: string) {
    this.#client = client;
    this.#bucket = bucket;
  }

  async begin(Key: string): Promise<string> {
    const { UploadId } = await this.#client.send(
      new CreateMultipartUploadCommand({ Bucket: this.#bucket, Key, ContentType: 'text/csv; charset=utf-8' }),
    );
    if (UploadId === undefined) throw new AmbiguousError('export_ambiguous', 'S3 named no upload');
    return UploadId;
  }

  async part(Key: string, UploadId: string, PartNumber: number, text: string): Promise<FilePart> {
    const place = { Bucket: this.#bucket, Key, UploadId, PartNumber };
    const { ETag, ChecksumCRC32 } = await this.#client.send(
      new UploadPartCommand({ ...place, Body: Buffer.from(text) }),
    );
    if (ETag === undefined) throw new AmbiguousError('export_ambiguous', 'S3 named no part');
    return { number: PartNumber, etag: ETag, ...(ChecksumCRC32 === undefined ? {} : { crc32: ChecksumCRC32 }) };
  }

  async end(Key: string, UploadId: string, parts: readonly FilePart[]): Promise<boolean> {
    const Parts = parts.map(({ number, etag, crc32 }) => ({
      PartNumber: number,
      ETag: etag,
      ...(crc32 === undefined ? {} : { ChecksumCRC32: crc32 }),
    }));
    const ended = { Bucket: this.#bucket, Key, UploadId, MultipartUpload: { Parts } };
    return this.#unlessGone(() => this.#client.send(new CompleteMultipartUploadCommand(ended)));
  }

  async exists(Key: string): Promise<boolean> {
    try {
      await this.#client.send(new HeadObjectCommand({ Bucket: this.#bucket, Key }));
      return true;
    } catch (error) {
      if (error instanceof NotFound) return false;
      throw error;
    }
  }

  async abort(Key: string, UploadId: string): Promise<void> {
    const upload = { Bucket: this.#bucket, Key, UploadId };
    await this.#unlessGone(() => this.#client.send(new AbortMultipartUploadCommand(upload)));
  }

  async #unlessGone(send: () => Promise<unknown>): Promise<boolean> {
    try {
      await send();
      return true;
    } catch (error) {
      if (error instanceof S3ServiceException && error.name === 'NoSuchUpload') return false;
      throw error;
    }
  }
}

export interface FileLink {
  readonly file: string;
  /** The name under which a browser saves it. */
  readonly savedAs: string;
  readonly lifetimeSeconds: number;
  readonly nowMs: number;
}

/**
 * A link to a file that works without credentials (AWS Signature Version 4, "Authenticating Requests: Using Query Parameters"). It
 * ends earlier when the credentials of this process end.
 */
export async function linkTo(client: S3Client, bucket: string, asked: FileLink): Promise<string> {
  const { config } = client;
  const [{ accessKeyId, secretAccessKey, sessionToken }, region] = await Promise.all([
    config.credentials(),
    config.region(),
  ]);
  const { protocol, host, path } = await addressOf(client, bucket, asked.file);
  const day = new Date(asked.nowMs).toISOString().replaceAll(/[-:]|\.\d{3}/g, '');
  const scope = `${day.slice(0, 8)}/${region}/s3/aws4_request`;
  const query = [
    ['X-Amz-Algorithm', 'AWS4-HMAC-SHA256'],
    ['X-Amz-Credential', `${accessKeyId}/${scope}`],
    ['X-Amz-Date', day],
    ['X-Amz-Expires', String(asked.lifetimeSeconds)],
    ...(sessionToken === undefined ? [] : [['X-Amz-Security-Token', sessionToken]]),
    ['X-Amz-SignedHeaders', 'host'],
    ['response-content-disposition', `attachment; filename="${asked.savedAs}"`],
  ]
    .map(([name = '', value = '']) => `${escaped(name)}=${escaped(value)}`)
    .join('&');
  const canonical = ['GET', path, query, `host:${host}`, '', 'host', 'UNSIGNED-PAYLOAD'].join('\n');
  const digest = createHash('sha256').update(canonical).digest('hex');
  const text = ['AWS4-HMAC-SHA256', day, scope, digest].join('\n');
  const keyed = (key: string | Buffer, value: string) => createHmac('sha256', key).update(value).digest();
  const key = scope.split('/').reduce<string | Buffer>(keyed, `AWS4${secretAccessKey}`);
  invariant(Buffer.isBuffer(key), 'a scope has parts');
  const signature = keyed(key, text).toString('hex');
  return `${protocol}//${host}${path}?${query}&X-Amz-Signature=${signature}`;
}

interface Address {
  readonly protocol: string;
  /** With the port, unless it is that of the protocol. */
  readonly host: string;
  /** Encoded. */
  readonly path: string;
}

/** The address of a file, as the client would call it. Nothing is sent. */
async function addressOf(client: S3Client, Bucket: string, Key: string): Promise<Address> {
  const command = new GetObjectCommand({ Bucket, Key });
  let found: Address | undefined;
  command.middlewareStack.add(
    () =>
      async ({ request }) => {
        const { protocol, hostname, port, path } = request as Address & { hostname: string; port?: number };
        found = { protocol, host: port === undefined ? hostname : `${hostname}:${port}`, path };
        return { output: { $metadata: {} }, response: {} };
      },
    // The address is known then, and the request is not signed yet.
    { step: 'build', name: 'address', priority: 'high' },
  );
  await client.send(command);
  invariant(found !== undefined, 'a request has an address');
  return found;
}

/** As AWS encodes: every byte except the unreserved characters of RFC 3986. */
function escaped(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
