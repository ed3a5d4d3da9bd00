import { PutObjectCommand, type S3Client, S3ServiceException } from '@aws-sdk/client-s3';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { MemoryArchive } from './memory-archive.ts';

export function refused(name: string, status: number): Error {
  return new S3ServiceException({ name, message: 'refused', $fault: 'client', $metadata: { httpStatusCode: status } });
}

/** Checks what the bucket policy and S3 itself check. */
export async function answerPut(archive: MemoryArchive, command: object): Promise<unknown> {
  if (!(command instanceof PutObjectCommand)) throw new Error(`unsupported command ${command.constructor.name}`);
  const { Key: name = '', Body, ChecksumSHA256, IfNoneMatch } = command.input;
  invariant(typeof Body === 'string', 'the body of the object is not text');
  const sha256 = systemDigest.sha256(Body);
  if (IfNoneMatch !== '*') throw refused('AccessDenied', 403);
  if (ChecksumSHA256 !== Buffer.from(sha256).toString('base64')) throw refused('BadDigest', 400);
  if ((await archive.put({ name, text: Body, sha256 })) === 'there') throw refused('PreconditionFailed', 412);
  return {};
}

export function memoryS3(archive: MemoryArchive): S3Client {
  return { send: (command: object) => answerPut(archive, command) } as unknown as S3Client;
}
