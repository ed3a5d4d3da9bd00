import { PutObjectCommand, type S3Client, S3ServiceException } from '@aws-sdk/client-s3';
import { AmbiguousError, RetryableError, TerminalError } from '../../kernel/faults.ts';
import { isAfterAttempt } from '../../kernel/platform/sdk-errors.ts';
import type { ArchiveObject } from '../domain/archive-object.ts';
import type { ArchiveObjects } from '../use/archive-lines.ts';

/** The bucket locks each object, and S3 refuses to overwrite an existing key. */
export class S3Archive implements ArchiveObjects {
  readonly #client: S3Client;
  readonly #bucket: string;

  constructor(client: S3Client, bucket: string) {
    this.#client = client;
    this.#bucket = bucket;
  }

  async put({ name, text, sha256 }: ArchiveObject): Promise<'written' | 'there'> {
    const command = new PutObjectCommand({
      Bucket: this.#bucket,
      Key: name,
      Body: text,
      ContentType: 'application/x-ndjson',
      ChecksumSHA256: Buffer.from(sha256).toString('base64'),
      IfNoneMatch: '*',
    });
    try {
      await this.#client.send(command);
      return 'written';
    } catch (error) {
      // The key of a manifest contains only its number, so the existing manifest may differ. All other keys contain a
      // digest of the content, so the existing object is the same.
      if (error instanceof S3ServiceException && error.name === 'PreconditionFailed') return 'there';
      throw faultOf(error);
    }
  }
}

/**
 * `ConditionalRequestConflict` (409) means that another operation on the same key, such as a deletion, completed during
 * this write. The write may be repeated (Amazon S3 user guide, "How to prevent object overwrites with conditional
 * writes").
 */
const TRANSIENT: ReadonlySet<string> = new Set(['SlowDown', 'ServiceUnavailable', 'ConditionalRequestConflict']);

function faultOf(cause: unknown): Error {
  if (!isAfterAttempt(cause))
    return new TerminalError('archive_call_invalid', 'an object could not be sent', { cause });
  if (!(cause instanceof S3ServiceException))
    return new AmbiguousError('archive_ambiguous', 'the archive did not respond', { cause });
  if (TRANSIENT.has(cause.name)) return new RetryableError('archive_busy', 'the archive is busy', { cause });
  if ((cause.$metadata.httpStatusCode ?? 500) >= 500)
    return new AmbiguousError('archive_ambiguous', 'the archive responded with a server error', { cause });
  return new TerminalError('archive_refused', `the archive refused an object: ${cause.name}`, { cause });
}
