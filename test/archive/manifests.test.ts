/** Tests the guarantee "complete archive". */
import { generateKeyPairSync, sign, verify } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { archiveObject } from '../../lambdas/archive/domain/archive-object.ts';
import { type Bounds, NO_BOUNDS } from '../../lambdas/archive/domain/judge-chain.ts';
import { manifestHash, manifestName, manifestText, numberOfManifest } from '../../lambdas/archive/domain/manifest.ts';
import { StoredManifests } from '../../lambdas/archive/store/stored-manifests.ts';
import type { ArchiveObjects } from '../../lambdas/archive/use/archive-lines.ts';
import type { StoredObjects } from '../../lambdas/archive/use/stored-objects.ts';
import { type ManifestFinding, verifyManifests } from '../../lambdas/archive/use/verify-manifests.ts';
import { type WriteManifestsTools, writeManifests } from '../../lambdas/archive/use/write-manifests.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { fc } from '../support/properties.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { whole } from '../support/slice.ts';
import { MemoryArchive } from './memory-archive.ts';

const HOUR_MS = 3_600_000;

class Archive {
  readonly memory = new MemoryArchive();
  readonly clock = new SimulatedClock(Date.UTC(2026, 10, 23, 14, 5));
  #sequence = 1_000;

  /** Returns the key of the object. */
  async arrives(lines = 2, ageMs = 0): Promise<string> {
    const line = () => ({
      change: 'INSERT' as const,
      atMs: Math.floor((this.clock.nowMs() - ageMs) / 1_000) * 1_000,
      sequence: String((this.#sequence += 1)),
      event: `evt_${this.#sequence}`,
      item: { pk: { S: 'PAY#' } },
    });
    const object = archiveObject(systemDigest, [line(), ...Array.from({ length: lines - 1 }, line)]);
    await this.memory.put(object);
    return object.name;
  }

  write(change: Partial<WriteManifestsTools> = {}, objects: StoredObjects & ArchiveObjects = this.memory) {
    const tools = { manifests: new StoredManifests(objects), digest: systemDigest, clock: this.clock, ...change };
    return writeManifests(tools, this.clock.nowMs() + HOUR_MS / 2);
  }

  /** The clock ends in the last of these hours. */
  async hours(count: number, objects = 2): Promise<void> {
    for (let hour = 0; hour < count; hour += 1) {
      for (let index = 0; index < objects; index += 1) await this.arrives();
      await this.write();
      this.clock.advance(HOUR_MS);
    }
    this.clock.advance(-HOUR_MS);
  }

  async verified(bounds: Bounds = NO_BOUNDS, isSigned?: (text: string, signature: string) => boolean) {
    const tools = { manifests: new StoredManifests(this.memory), digest: systemDigest, isSigned };
    return verifyManifests(tools, bounds, this.clock.nowMs());
  }

  async findings(): Promise<readonly ManifestFinding[]> {
    return (await this.verified()).findings;
  }

  set(name: string, text: string): void {
    this.memory.objects.set(name, { name, text, sha256: new Uint8Array() });
  }

  textOf(name: string): string {
    return this.memory.objects.get(name)?.text ?? '';
  }
}

describe('a manifest', () => {
  test('lists the objects since the previous manifest, each with its number of lines and its first and last event', async () => {
    const archive = new Archive();
    const first = await archive.arrives(3);
    const [one] = await archive.write();
    archive.clock.advance(HOUR_MS);
    const second = await archive.arrives(1);
    const [two] = await archive.write();
    expect(one).toMatchObject({
      number: 1,
      objects: [{ name: first, lines: 3, first: { sequence: '1001', event: 'evt_1001' }, last: { event: 'evt_1003' } }],
      previous: '0'.repeat(64),
    });
    expect(two).toMatchObject({ number: 2, objects: [{ name: second, lines: 1 }], previous: one?.hash });
    expect(await archive.verified()).toEqual({ manifests: 2, objects: 2, findings: [] });
  });

  test('is written once an hour, even without new objects', async () => {
    const archive = new Archive();
    expect(await archive.write()).toMatchObject([{ number: 1, objects: [] }]);
    expect(await archive.write()).toEqual([]);
    archive.clock.advance(HOUR_MS);
    expect(await archive.write()).toMatchObject([{ number: 2, objects: [] }]);
  });

  test('lists an object that arrived hours after its rows', async () => {
    const archive = new Archive();
    await archive.hours(24);
    archive.clock.advance(HOUR_MS);
    const late = await archive.arrives(1, 21 * HOUR_MS);
    expect(await archive.write()).toMatchObject([{ number: 25, objects: [{ name: late }] }]);
    expect(await archive.findings()).toEqual([]);
  });

  test('lists all objects after a long pause; if there are too many, further manifests list the remaining objects', async () => {
    const archive = new Archive();
    await archive.hours(2);
    for (let hour = 0; hour < 60; hour += 1) {
      archive.clock.advance(HOUR_MS);
      await archive.arrives();
    }
    const written = await archive.write({ most: 7 });
    expect(written.map(({ objects }) => objects.length)).toEqual([7, 7, 7, 7, 7, 7, 7, 7, 4]);
    expect(written.map(({ isPart }) => isPart).lastIndexOf(true)).toBe(7);
    expect(await archive.verified()).toEqual({ manifests: 11, objects: 64, findings: [] });
  });

  test('whose writer runs out of time leaves the remaining objects to the manifests of the next run', async () => {
    const archive = new Archive();
    for (let index = 0; index < 5; index += 1) await archive.arrives();
    const slow = { nowMs: () => (archive.clock.advance(HOUR_MS / 8), archive.clock.nowMs()) };
    expect(await archive.write({ most: 1, clock: slow })).toHaveLength(4);
    await archive.write({ most: 1 });
    expect(await archive.verified()).toEqual({ manifests: 5, objects: 5, findings: [] });
  });
});

function killedAt(call: number, isAfter: boolean, objects: StoredObjects & ArchiveObjects) {
  let calls = 0;
  const through = async <Answer>(act: () => Promise<Answer>): Promise<Answer> => {
    calls += 1;
    if (calls !== call) return act();
    if (isAfter) await act();
    throw new Error('killed');
  };
  return {
    put: (object: Parameters<ArchiveObjects['put']>[0]) => through(() => objects.put(object)),
    names: (...of: Parameters<StoredObjects['names']>) => through(() => objects.names(...of)),
    text: (name: string) => through(() => objects.text(name)),
  };
}

describe('manifest writers', () => {
  test.each([false, true])(
    'leave one complete manifest when a writer crashes at any call (crash after the call took effect: %s)',
    async (isAfter) => {
      for (let call = 1, isKilled = true; isKilled; call += 1) {
        const archive = new Archive();
        await archive.hours(3);
        archive.clock.advance(HOUR_MS);
        await archive.arrives();
        isKilled = await archive.write({}, killedAt(call, isAfter, archive.memory)).then(
          () => false,
          () => true,
        );
        await archive.write();
        expect(await archive.verified()).toEqual({ manifests: 4, objects: 7, findings: [] });
      }
    },
  );

  test('list each object once when two writers run concurrently, whatever the order of their calls', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), async (scheduler) => {
        const archive = new Archive();
        await archive.hours(2);
        archive.clock.advance(HOUR_MS);
        await archive.arrives();
        const { memory } = archive;
        const turns = () => ({
          put: scheduler.scheduleFunction((object: Parameters<ArchiveObjects['put']>[0]) => memory.put(object)),
          names: scheduler.scheduleFunction((...of: Parameters<StoredObjects['names']>) => memory.names(...of)),
          text: scheduler.scheduleFunction((name: string) => memory.text(name)),
        });
        const both = Promise.all([archive.write({}, turns()), archive.write({}, turns())]);
        await scheduler.waitFor(both);
        expect((await both).flat()).toHaveLength(1);
        expect(await archive.verified()).toEqual({ manifests: 3, objects: 5, findings: [] });
      }),
      { numRuns: whole(1_000, { slice: 20 }) },
    );
  });

  test('write nothing if another writer has written the manifests of several hours in the meantime', async () => {
    const archive = new Archive();
    await archive.hours(2);
    archive.clock.advance(HOUR_MS);
    await archive.arrives();
    const { memory } = archive;
    let isFirst = true;
    const stopped = {
      put: async (object: Parameters<ArchiveObjects['put']>[0]) => {
        if (isFirst) {
          isFirst = false;
          await archive.hours(3);
        }
        return memory.put(object);
      },
      names: memory.names.bind(memory),
      text: memory.text.bind(memory),
    };
    expect(await archive.write({}, stopped)).toEqual([]);
    expect(await archive.verified()).toEqual({ manifests: 5, objects: 11, findings: [] });
  });

  test('refuse to add a manifest after a tampered one', async () => {
    const archive = new Archive();
    await archive.hours(2);
    archive.set(manifestName(2), '{}\n');
    archive.clock.advance(HOUR_MS);
    await expect(archive.write()).rejects.toMatchObject({ code: 'manifest_unreadable' });
  });
});

describe('verification', () => {
  test('detects missing newest manifests, because the newest remaining manifest is too old, and detects that all manifests are missing', async () => {
    const archive = new Archive();
    expect(await archive.findings()).toEqual([]);
    await archive.hours(6);
    for (const number of [4, 5, 6]) archive.memory.objects.delete(manifestName(number));
    archive.clock.advance(1);
    expect(await archive.findings()).toEqual([
      { kind: 'manifests_end', object: manifestName(3), at: '2026-11-23T16:05:00.000Z' },
    ]);
    for (const number of [1, 2, 3]) archive.memory.objects.delete(manifestName(number));
    expect(await archive.findings()).toEqual([{ kind: 'manifest_missing', object: manifestName(1) }]);
  });

  test('reads only manifests that can list objects of the period, and reports missing objects', async () => {
    const archive = new Archive();
    await archive.hours(100, 1);
    const removed = [...archive.memory.objects.keys()].filter((name) => name.startsWith('ledger/'))[50] ?? '';
    archive.memory.objects.delete(removed);
    const nowMs = archive.clock.nowMs();
    const of = async (hoursAgo: number) =>
      archive.verified({ fromMs: nowMs - hoursAgo * HOUR_MS, untilMs: nowMs - (hoursAgo - 1) * HOUR_MS });
    expect(await of(1)).toMatchObject({ findings: [] });
    expect((await of(1)).manifests).toBeLessThan(30);
    expect((await of(49)).findings).toMatchObject([
      { kind: 'object_missing', object: removed, manifest: manifestName(51) },
    ]);
  });

  test('reports an object that no manifest lists', async () => {
    const archive = new Archive();
    await archive.hours(2);
    const foreign = await archive.arrives(1, 60 * HOUR_MS);
    archive.clock.advance(HOUR_MS);
    await archive.write();
    expect(await archive.findings()).toEqual([{ kind: 'object_unlisted', object: foreign }]);
  });

  test('reports a manifest that was not signed with the required key', async () => {
    const archive = new Archive();
    const [key, other] = [
      generateKeyPairSync('ec', { namedCurve: 'P-256' }),
      generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    ];
    const signedBy = (pair: typeof key) => async (hash: Uint8Array) => {
      // KMS signs the hash that it receives. Node's `sign` hashes its input, so this function finds the text of the
      // hash.
      const text = textOfHash.get(Buffer.from(hash).toString('hex')) ?? '';
      return sign('sha256', Buffer.from(text), pair.privateKey);
    };
    const textOfHash = new Map<string, string>();
    const digest = {
      ...systemDigest,
      sha256: (text: string) => {
        const hash = systemDigest.sha256(text);
        textOfHash.set(Buffer.from(hash).toString('hex'), text);
        return hash;
      },
    };
    await archive.write({ digest, sign: signedBy(key) });
    archive.clock.advance(HOUR_MS);
    await archive.write({ digest, sign: signedBy(other) });
    archive.clock.advance(HOUR_MS);
    await archive.write();
    const isSigned = (text: string, signature: string) =>
      verify('sha256', Buffer.from(text), key.publicKey, Buffer.from(signature, 'base64'));
    expect((await archive.verified(NO_BOUNDS, isSigned)).findings).toEqual([
      {
        kind: 'manifest_broken',
        object: manifestName(2),
        because: 'the signature does not match this key and content',
      },
      { kind: 'manifest_broken', object: manifestName(3), because: 'it has no signature' },
    ]);
  });
});

const tampering = fc.record({
  how: fc.constantFrom('byte' as const, 'cut' as const, 'swap' as const, 'remove' as const, 'tail' as const),
  what: fc.constantFrom('manifest' as const, 'object' as const),
  at: fc.nat(),
  other: fc.nat(),
});

test('verification reports each change, cut, swap or removal of manifests (except a removal of only the newest one), each removal of an object, and nothing else', async () => {
  const HOURS = 6;
  await fc.assert(
    fc.asyncProperty(tampering, async ({ how, what, at, other }) => {
      const archive = new Archive();
      await archive.hours(HOURS);
      const all = [...archive.memory.objects.keys()].sort();
      const names = all.filter((name) => name.startsWith(what === 'manifest' ? 'manifests/' : 'ledger/'));
      const name = names[at % names.length] ?? '';
      const rival = names[other % names.length] ?? '';
      const [text, rivalText] = [archive.textOf(name), archive.textOf(rival)];
      const place = other % text.length;
      let expected = new Set([name]);
      // Objects are only removed, because only the verification of lines compares their content with their names.
      if (how === 'remove' || what === 'object') archive.memory.objects.delete(name);
      else if (how === 'byte')
        archive.set(name, `${text.slice(0, place)}${text[place] === '7' ? '8' : '7'}${text.slice(place + 1)}`);
      else if (how === 'cut') archive.set(name, text.slice(0, place));
      else if (how === 'swap') {
        archive.set(name, rivalText);
        archive.set(rival, text);
        expected = new Set(name === rival ? [] : [name, rival]);
      } else {
        // Fewer manifests may be missing within the allowed delay.
        const cut = 4 + (other % (HOURS - 4));
        for (const each of names.slice(-cut)) archive.memory.objects.delete(each);
        expected = new Set([names.at(-cut - 1) ?? '']);
      }
      if (how === 'remove' && what === 'manifest' && name === names.at(-1)) expected = new Set();
      expect(new Set((await archive.findings()).map(({ object }) => object))).toEqual(expected);
    }),
    { numRuns: whole(10_000, { slice: 30 }) },
  );
});

/** A forger cannot create this signature. */
const signatureOf = (text: string) => Buffer.from(systemDigest.sha256(`key ${text}`)).toString('base64');
const isSigned = (text: string, signature: string) => signature === signatureOf(text);

const forgery = fc.record({
  how: fc.constantFrom('byte' as const, 'cut' as const, 'remove' as const, 'back' as const, 'forge' as const),
  at: fc.nat(),
  other: fc.nat({ max: 1_000 }),
});

async function forge(archive: Archive, { how, at, other }: { how: string; at: number; other: number }): Promise<void> {
  const names = [...archive.memory.objects.keys()].filter((name) => name.startsWith('manifests/')).sort();
  const name = names[at % names.length] ?? '';
  const text = archive.textOf(name);
  const place = other % text.length;
  if (how === 'remove') archive.memory.objects.delete(name);
  else if (how === 'cut') archive.set(name, text.slice(0, place));
  else if (how === 'byte')
    archive.set(name, `${text.slice(0, place)}${text[place] === '7' ? '8' : '7'}${text.slice(place + 1)}`);
  else if (how === 'back')
    await moveBack(archive, probed(names).slice(0, 1 + (other % 6)), { hours: at, isHashed: false });
  else await moveBack(archive, names.slice(at % names.length), { hours: other, isHashed: true });
}

/** Every manifest directs the binary search to the later half. */
function probed(names: readonly string[]): readonly string[] {
  const found: string[] = [];
  for (let low = 0; low < names.length; ) {
    const middle = Math.floor((low + names.length - 1) / 2);
    found.push(names[middle] ?? '');
    low = middle + 1;
  }
  return found;
}

/** @param isHashed whether to recompute the manifests' hashes and links, so that only the signatures are invalid */
async function moveBack(
  archive: Archive,
  names: readonly string[],
  { hours, isHashed }: { readonly hours: number; readonly isHashed: boolean },
): Promise<void> {
  const manifests = new StoredManifests(archive.memory);
  let previous: string | undefined;
  for (const name of names) {
    const read = await manifests.read(numberOfManifest(name) ?? 0);
    if (read?.kind !== 'read') return;
    const { hash: old, ...listed } = read.manifest;
    const atMs = listed.atMs - (hours % HOURS_OF_MANIFESTS) * HOUR_MS;
    const content = { ...listed, atMs, objects: [], ...(previous === undefined ? {} : { previous }) };
    const hash = isHashed ? manifestHash(systemDigest, content) : old;
    if (isHashed) previous = hash;
    archive.set(name, manifestText(systemDigest, { ...content, hash }));
  }
}

const HOURS_OF_MANIFESTS = 48;
/** More objects would cause further findings, because forged manifests list none. */
const ITS_HOUR = 30;

test('verification of a period finds a removed object, even when several manifests were changed', async () => {
  const original = new Archive();
  const texts = new Map<string, string>();
  const digest = {
    ...systemDigest,
    sha256: (text: string) => {
      const hash = systemDigest.sha256(text);
      texts.set(Buffer.from(hash).toString('hex'), text);
      return hash;
    },
  };
  const signed = async (hash: Uint8Array) =>
    Buffer.from(signatureOf(texts.get(Buffer.from(hash).toString('hex')) ?? ''), 'base64');
  let removed = '';
  for (let hour = 0; hour < HOURS_OF_MANIFESTS; hour += 1) {
    if (hour === ITS_HOUR) removed = await original.arrives();
    await original.write({ digest, sign: signed });
    original.clock.advance(HOUR_MS);
  }
  const fromMs = Date.UTC(2026, 10, 23, 14 + ITS_HOUR);
  const bounds = { fromMs, untilMs: fromMs + HOUR_MS };
  expect(await original.verified(bounds, isSigned)).toMatchObject({ objects: 1, findings: [] });
  await fc.assert(
    fc.asyncProperty(fc.array(forgery, { maxLength: 4 }), async (forgeries) => {
      const archive = new Archive();
      archive.clock.advance(HOURS_OF_MANIFESTS * HOUR_MS);
      for (const [name, object] of original.memory.objects) archive.memory.objects.set(name, object);
      archive.memory.objects.delete(removed);
      for (const each of forgeries) await forge(archive, each);
      expect((await archive.verified(bounds, isSigned)).findings).not.toEqual([]);
    }),
    { numRuns: whole(10_000, { slice: 30 }) },
  );
});
