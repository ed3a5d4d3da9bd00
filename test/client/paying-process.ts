import pMap from 'p-map';
import { createClient } from '../../client/client.ts';
import { fileKeys } from '../../client/file-keys.ts';

/*
 * Keeps only its keys between runs. The test kills this program. The program prints `begun`, and `done <purchase>
 * <payment>` for each purchase.
 */

const { API_URL = '', API_KEY = '', KEYS = '', RUN = '', COUNT = '', FIRST_AMOUNT = '' } = process.env;
const client = createClient({ url: API_URL, apiKey: API_KEY, keys: fileKeys(KEYS) });
const purchases = Array.from({ length: Number(COUNT) }, (_, each) => each);

console.log('begun now');
await pMap(
  purchases,
  async (each) => {
    const purchase = { amount: Number(FIRST_AMOUNT) + each, currency: 'EUR', source: 'tok_ok' } as const;
    const paid = await client.payments.create(purchase, { operation: `${RUN}-${each}` });
    console.log(`done ${each} ${paid.id}`);
  },
  { concurrency: 2 },
);
