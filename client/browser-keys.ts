import { PayonceError } from './errors.ts';
import type { KeyStore, StoredOperation } from './key-store.ts';

/** The IndexedDB object store, with one row for each operation. */
const ROWS = 'operations';

/**
 * Stores operations in IndexedDB, for all tabs and workers of one origin. A row is stored and read in one transaction
 * and is on disk when the transaction ends, so it survives a reload, a crash of the browser, and a loss of power. The
 * rows of a private window are deleted with the window.
 *
 * `localStorage` does not suffice: Chromium writes it to disk some seconds later, and it has no atomic put-if-absent.
 *
 * @param database the name of the IndexedDB database
 * @default 'payonce'
 * @returns a store whose functions throw PayonceError `invalid_key_store` when the browser cannot store the row, for
 * example because the disk is full
 */
export function browserKeys(database = 'payonce'): KeyStore {
  return {
    putIfAbsent: (request) => change(database, request.operation, (stored) => stored ?? request),
    keepAnswer: async (request, answer) => {
      await change(database, request.operation, () => ({ ...request, answer }));
    },
    keepRefusal: async (request) => {
      await change(database, request.operation, (stored) => (stored?.answer === undefined ? request : stored));
    },
  };
}

/**
 * Reads and writes one row. Transactions of other tabs run before or after this transaction.
 * @returns the row that is now on disk
 */
async function change(
  database: string,
  operation: string,
  next: (stored: StoredOperation | undefined) => StoredOperation,
): Promise<StoredOperation> {
  let connection: IDBDatabase | undefined;
  try {
    connection = await open(database);
    return await commit(connection, operation, next);
  } catch (cause) {
    const message = `The browser did not store the operation ${operation} in IndexedDB: ${String(cause)}`;
    // An earlier page may have sent the request, or this page may have sent it and then failed to store the response.
    throw new PayonceError('invalid_key_store', message, { cause, mayHaveTakenEffect: true });
  } finally {
    connection?.close();
  }
}

/** Opens the database. Called for each change, because a browser may close a connection at any time. */
function open(database: string): Promise<IDBDatabase> {
  const opening = indexedDB.open(database, 1);
  return new Promise((resolve, reject) => {
    opening.addEventListener('upgradeneeded', () => opening.result.createObjectStore(ROWS, { keyPath: 'operation' }));
    opening.addEventListener('success', () => resolve(opening.result));
    opening.addEventListener('error', () => reject(opening.error ?? new Error('the database cannot be opened')));
  });
}

function commit(
  connection: IDBDatabase,
  operation: string,
  next: (stored: StoredOperation | undefined) => StoredOperation,
): Promise<StoredOperation> {
  const transaction = connection.transaction(ROWS, 'readwrite', { durability: 'strict' });
  const rows = transaction.objectStore(ROWS);
  return new Promise((resolve, reject) => {
    let row: StoredOperation | undefined;
    const reading = rows.get(operation) as IDBRequest<StoredOperation | undefined>;
    reading.addEventListener('success', () => {
      row = next(reading.result);
      // Write an existing row again, to ensure that it is on disk.
      rows.put(row);
    });
    transaction.addEventListener('complete', () => {
      if (row === undefined) reject(new Error('the transaction returned no row'));
      else resolve(row);
    });
    transaction.addEventListener('abort', () => reject(transaction.error ?? new Error('the transaction was aborted')));
  });
}
