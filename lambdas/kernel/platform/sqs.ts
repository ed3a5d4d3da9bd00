import { SQSClient } from '@aws-sdk/client-sqs';
import type { Queues } from './system-platform.ts';

export const queues: Queues = { sqs: (config) => new SQSClient(config) };
