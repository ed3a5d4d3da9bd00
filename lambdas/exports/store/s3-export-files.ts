import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  NoSuchKey,
  NotFound,
  PutObjectCommand,
  type S3Client,
  S3ServiceException,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { AmbiguousError } from '../../kernel/faults.ts';
import { type DataExport, type FilePart, fileOf, LINK_SECONDS } from '../domain/data-export.ts';
import type { ExportFiles } from '../use/exports.ts';

/**
 * Without checksums, S3 accepts a file whose part numbers have gaps; with them, it responds with `InvalidPartOrder`
 * (Amazon S3 API reference, "CompletedPart"). Each writer after the first leaves a gap.
 */
export const FILES_CLIENT = { maxAttempts: 3, requestChecksumCalculation: 'WHEN_REQUIRED' } as const;

/** All calls are idempotent, so the client retries them. */
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
    if (UploadId === undefined) throw new AmbiguousError('export_ambiguous', 'S3 returned no upload id');
    return UploadId;
  }

  async part(Key: string, UploadId: string, PartNumber: number, text: string): Promise<FilePart> {
    const place = { Bucket: this.#bucket, Key, UploadId, PartNumber };
    const { ETag } = await this.#client.send(new UploadPartCommand({ ...place, Body: Buffer.from(text) }));
    if (ETag === undefined) throw new AmbiguousError('export_ambiguous', 'S3 returned no ETag for a part');
    return { number: PartNumber, etag: ETag };
  }

  async end(Key: string, UploadId: string, parts: readonly FilePart[]): Promise<boolean> {
    const Parts = parts.map(({ number, etag }) => ({ PartNumber: number, ETag: etag }));
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

  async keep(Key: string, text: string): Promise<void> {
    await this.#client.send(new PutObjectCommand({ Bucket: this.#bucket, Key, Body: Buffer.from(text) }));
  }

  async kept(Key: string): Promise<string | undefined> {
    try {
      const { Body } = await this.#client.send(new GetObjectCommand({ Bucket: this.#bucket, Key }));
      return await Body?.transformToString();
    } catch (error) {
      if (error instanceof NoSuchKey) return undefined;
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

/** The URL is valid for `LINK_SECONDS`, or until the credentials of this process expire, if that is earlier. */
export function linkTo(client: S3Client, bucket: string, asked: DataExport): Promise<string> {
  const { kind, from, to } = asked;
  const command = new GetObjectCommand({
    Bucket: bucket,
    Key: fileOf(asked),
    ResponseContentDisposition: `attachment; filename="${kind}-${from}-${to}.csv"`,
  });
  return getSignedUrl(client, command, { expiresIn: LINK_SECONDS });
}
