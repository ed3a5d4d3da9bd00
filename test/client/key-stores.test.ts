import { type FileHandle, mkdir, open as openFolder, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { browserKeys } from '../../client/browser-keys.ts';
import { fileKeys } from '../../client/file-keys.ts';
import { type KeyStore, memoryKeys, type StoredRequest } from '../../client/key-store.ts';
import { bundleFolder } from '../support/bundle-folder.ts';

let folder: string;
let folders = 0;
beforeAll(async () => {
  folder = bundleFolder('keys');
});
afterEach(() => void jest.restoreAllMocks());
afterAll(() => rm(folder, { recursive: true, force: true }));

function newFolder(): string {
  folders += 1;
  return join(folder, `store-${folders}`, 'keys');
}

const request = (key: string, changes: Partial<StoredRequest> = {}): StoredRequest => ({
  operation: 'order_42',
  key,
  method: 'POST',
  path: '/v1/payments',
  body: '{"amount":1000}',
  mode: 'test',
  ...changes,
});
const ANSWER = { status: 201, body: '{"id":"pay_1","object":"payment","note":"Tee für zwei\\u0000"}' };

/** Two processes would open one store in this way. */
const STORES: readonly (readonly [string, () => readonly [KeyStore, KeyStore]])[] = [
  [
    'in memory',
    () => {
      const keys = memoryKeys();
      return [keys, keys];
    },
  ],
  [
    'in files',
    () => {
      const path = newFolder();
      return [fileKeys(path), fileKeys(path)];
    },
  ],
];

describe.each(STORES)('a key store %s', (_name, open) => {
  test('keeps the first request of an operation, and its response', async () => {
    const [one, other] = open();
    expect(await one.putIfAbsent(request('k-1'))).toEqual(request('k-1'));
    expect(await other.putIfAbsent(request('k-2', { body: '{}' }))).toEqual(request('k-1'));
    await other.keepAnswer(request('k-1'), ANSWER);
    await one.keepAnswer(request('k-1'), ANSWER);
    expect(await one.putIfAbsent(request('k-3'))).toEqual({ ...request('k-1'), answer: ANSWER });
  });

  test('keeps a refusal until a response is stored, and stores no refusal after that', async () => {
    const [one, other] = open();
    await one.putIfAbsent(request('k-1'));
    const refused = { ...request('k-1'), refused: true } as const;
    await one.keepRefusal?.(refused);
    expect(await other.putIfAbsent(request('k-2'))).toEqual(refused);
    const corrected = request('k-1', { body: '{"amount":2000}' });
    await other.keepAnswer(corrected, ANSWER);
    await one.keepRefusal?.(refused);
    expect(await one.putIfAbsent(request('k-3'))).toEqual({ ...corrected, answer: ANSWER });
  });

  test('keeps one of several concurrent requests', async () => {
    const [one, other] = open();
    const put = async (each: number) => (each % 2 === 0 ? one : other).putIfAbsent(request(`k-${each}`));
    const puts = Array.from({ length: 40 }, (_, each) => put(each));
    const keys = new Set((await Promise.all(puts)).map(({ key }) => key));
    expect(keys.size).toBe(1);
  });

  test('keeps operations with any names separate', async () => {
    const [one] = open();
    const names = ['order_42', 'ORDER_42', '../order_42', 'order/42', 'ö'.repeat(200), '.', '__proto__'];
    for (const operation of names) await one.putIfAbsent(request(`k ${operation}`, { operation, body: null }));
    for (const operation of names)
      expect(await one.putIfAbsent(request('new', { operation }))).toMatchObject({ key: `k ${operation}`, body: null });
  });
});

test('a browser that cannot store a response reports that the request may have taken effect', async () => {
  // Node has no IndexedDB.
  const kept = async () => browserKeys().keepAnswer(request('k-1'), ANSWER);
  await expect(kept()).rejects.toMatchObject({ code: 'invalid_key_store', mayHaveTakenEffect: true });
});

describe('a key store in files', () => {
  test.each(['', undefined])('is refused without a folder: %j', (path) => {
    expect(() => fileKeys(path as string)).toThrow("fileKeys needs a folder, for example fileKeys('/var/lib/shop");
  });

  test('is readable only by its owner, and contains no files except those of its rows', async () => {
    const path = newFolder();
    await fileKeys(path).putIfAbsent(request('k-1'));
    await fileKeys(path).keepAnswer(request('k-1'), ANSWER);
    const names = await readdir(path);
    expect(names).toHaveLength(1);
    expect((await stat(join(path, String(names[0])))).mode & 0o777).toBe(0o600);
  });

  test('syncs its parent folders once, because an earlier process may have crashed right after it created the folders', async () => {
    const path = newFolder();
    await mkdir(path, { recursive: true });
    const handle = await openFolder(path);
    const synced: number[] = [];
    jest.spyOn(Object.getPrototypeOf(handle) as FileHandle, 'sync').mockImplementation(async function (
      this: FileHandle,
    ) {
      synced.push((await this.stat()).ino);
    });
    const keys = fileKeys(path);
    await keys.putIfAbsent(request('k-1'));
    const [parent, above] = [await stat(dirname(path)), await stat(dirname(dirname(path)))];
    expect(synced.slice(0, 2)).toEqual([parent.ino, above.ino]);
    synced.length = 0;
    await keys.putIfAbsent(request('k-2'));
    expect(synced).not.toContain(parent.ino);
    await handle.close();
  });

  test('ignores a draft left by a crashed process', async () => {
    const path = newFolder();
    await mkdir(path, { recursive: true });
    await writeFile(join(path, '.crashed.draft'), '{"operation":"ord');
    expect(await fileKeys(path).putIfAbsent(request('k-1'))).toEqual(request('k-1'));
  });

  test('leaves no draft when the disk is full', async () => {
    const path = newFolder();
    const keys = fileKeys(path);
    await keys.putIfAbsent(request('k-1'));
    const handle = await openFolder(path);
    jest.spyOn(Object.getPrototypeOf(handle) as FileHandle, 'sync').mockImplementation(async function (
      this: FileHandle,
    ) {
      if ((await this.stat()).isFile()) throw new Error('the disk is full');
    });
    await expect(keys.putIfAbsent(request('k-2', { operation: 'order_43' }))).rejects.toThrow('full');
    await expect(keys.keepAnswer(request('k-1'), ANSWER)).rejects.toThrow('full');
    expect(await readdir(path)).toHaveLength(1);
    await handle.close();
  });

  test('fails instead of using a new key when a row cannot be read', async () => {
    const path = newFolder();
    await fileKeys(path).putIfAbsent(request('k-1'));
    const [name] = await readdir(path);
    const file = join(path, String(name));
    await writeFile(file, (await readFile(file, 'utf8')).slice(0, 20));
    await expect(fileKeys(path).putIfAbsent(request('k-2'))).rejects.toMatchObject({ code: 'invalid_key_store' });
  });
});
