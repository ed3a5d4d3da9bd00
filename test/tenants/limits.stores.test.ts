import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { describeLimits } from './limits-suite.ts';

describeLimits(
  'on the DynamoDB API',
  async () => ({ client: documentClient(dynamoDbClient()), tables: await createTables('limits') }),
  { limits: [{ rate: 20, burst: 10 }], seconds: 2 },
);
