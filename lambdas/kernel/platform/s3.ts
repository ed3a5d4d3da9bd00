import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';

/** A call transfers a file of a few megabytes, or a part of a file. */
const REQUEST_TIMEOUT_MS = 30_000;
const CONNECTION_TIMEOUT_MS = 1_000;

/** @param config the default makes one attempt, for callers that retry themselves */
export function s3Client(config: S3ClientConfig = { maxAttempts: 1 }): S3Client {
  return new S3Client({
    ...config,
    // The local AWS identifies buckets by path instead of host name.
    forcePathStyle: true,
    requestHandler: {
      requestTimeout: REQUEST_TIMEOUT_MS,
      throwOnRequestTimeout: true,
      connectionTimeout: CONNECTION_TIMEOUT_MS,
    },
  });
}
