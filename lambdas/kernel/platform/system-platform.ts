import type { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import type { KMSClient } from '@aws-sdk/client-kms';
import type { LambdaClient } from '@aws-sdk/client-lambda';
import type { S3Client } from '@aws-sdk/client-s3';
import type { SQSClient, SQSClientConfig } from '@aws-sdk/client-sqs';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Digest } from '../digest.ts';
import type { Pacing } from './attempts.ts';
import { documentClient } from './document-client.ts';
import { type Instruments, systemInstruments } from './instruments.ts';
import { systemClock, systemDigest, systemEntropy } from './platform.ts';
import type { Secrets } from './secrets-manager.ts';
import { readRetention, type Variables } from './variables.ts';

/** Parts that only some functions need are separate, so that the other functions do not bundle them. */
export interface Platform extends Pacing {
  readonly variables: Variables;
  readonly digest: Digest;
  readonly documents: DynamoDBDocumentClient;
  readonly instruments: Instruments;
}

export interface Queues {
  /** @param config default: one attempt, with time limits */
  readonly sqs: (config?: SQSClientConfig) => SQSClient;
}

export interface Bus {
  readonly eventBridge: () => EventBridgeClient;
}

export interface Buckets {
  readonly s3: () => S3Client;
}

export interface Functions {
  readonly lambda: () => LambdaClient;
}

export interface Keys {
  readonly kms: () => KMSClient;
}

export function systemPlatform(): Platform {
  return {
    variables: process.env,
    clock: systemClock,
    entropy: systemEntropy,
    retention: readRetention(process.env),
    digest: systemDigest,
    documents: documentClient(),
    instruments: systemInstruments,
  };
}

/** A cold start does not load the Secrets Manager client. */
export const lazySecrets: Secrets = {
  secretsManager: async () => (await import('./secrets-manager.ts')).secretsManager(),
};
