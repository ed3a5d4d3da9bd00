import type { Books } from './books.ts';
import { changeBooks } from './dynamodb-change-books.ts';
import { chargeBooks } from './dynamodb-charge-books.ts';
import { mailBooks } from './dynamodb-mail-books.ts';
import type { DynamoDbAccess } from './dynamodb-requests.ts';
import { shopBooks } from './dynamodb-shop-books.ts';
import { troubleBooks } from './dynamodb-trouble-books.ts';

/** The rows are described in dynamodb-rows.ts, dynamodb-shop-books.ts and dynamodb-mail-books.ts. */
export function createDynamoDbBooks(access: DynamoDbAccess): Books {
  return {
    ...chargeBooks(access),
    ...changeBooks(access),
    ...troubleBooks(access),
    ...shopBooks(access),
    ...mailBooks(access),
  };
}
