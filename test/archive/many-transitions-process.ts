import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ArchiveObject, archiveObject, LINES_NAME } from '../../lambdas/archive/domain/archive-object.ts';
import { NO_BOUNDS } from '../../lambdas/archive/domain/judge-chain.ts';
import { archivedLines } from '../../lambdas/archive/store/archived-lines.ts';
import { readChainRow } from '../../lambdas/archive/store/read-chain-row.ts';
import { RowFiles } from '../../lambdas/archive/store/row-files.ts';
import type { RowPage } from '../../lambdas/archive/use/ledger-rows.ts';
import { verifyRows } from '../../lambdas/archive/use/verify-rows.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { paymentPartition, transitionRow } from '../../lambdas/payments/store/items.ts';
import { outcomeTransition, paymentIdFor, pendingTransition } from '../payments/payment-fixtures.ts';
import { FIRST_SEQUENCE, streamLine, streamRecord } from './memory-archive.ts';

/** Runs as a separate process, so that its memory can be measured. */

const PAGE = 500;
/** The archiver's largest batch size. */
const OBJECT = 5_000;
const transitions = Number(process.argv[2]);
/** In the payment of this transition, one row differs from its archived line. */
const FORGED = Math.floor(transitions / 3);

function rowsOfPayment(payment: number): readonly Record<string, unknown>[] {
  const first = pendingTransition(paymentIdFor(`many-${payment}`));
  const second = outcomeTransition(first, { kind: 'succeeded', chargeId: `ch_${payment}` });
  return [first, second].map(transitionRow);
}

function itemsOf(after: string | undefined): readonly [items: Record<string, unknown>[], next: { next?: string }] {
  const begin = Number(after ?? 0);
  const end = Math.min(transitions / 2, begin + PAGE);
  const items = Array.from({ length: end - begin }, (_, index) => rowsOfPayment(begin + index)).flat();
  return [items, end < transitions / 2 ? { next: String(end) } : {}];
}

/** All records of an object have the sequence number `FIRST_SEQUENCE + place`. */
function objectAt(place: number): ArchiveObject {
  const end = Math.min(transitions, (place + 1) * OBJECT) / 2;
  const payments = Array.from({ length: end - (place * OBJECT) / 2 }, (_, index) => (place * OBJECT) / 2 + index);
  // The rows of an object would need several times as much memory as its lines.
  const linesOf = (payment: number) => rowsOfPayment(payment).map((row) => streamLine(streamRecord(row, place)));
  const [first, ...others] = payments.flatMap(linesOf);
  if (first === undefined) throw new Error('the object has no lines');
  return archiveObject(systemDigest, [first, ...others]);
}

function placeOf(name: string): number {
  return Number(LINES_NAME.exec(name)?.groups?.['first']) - FIRST_SEQUENCE;
}

const forgedChain = paymentPartition(paymentIdFor(`many-${Math.floor(FORGED / 2)}`));
const forged = (item: Record<string, unknown>) =>
  item['pk'] === forgedChain && item['sk'] === 'T#000002' ? { ...item, type: 'payment.failed' } : item;
const read = (item: Record<string, unknown>) => ({ row: readChainRow(item), item });

const parts = new RowFiles(mkdtempSync(join(tmpdir(), 'payonce-many-')));
const { counts, findings } = await verifyRows(
  {
    ledger: {
      page: async (after): Promise<RowPage> => {
        const [items, next] = itemsOf(after);
        return { rows: items.map(forged).map(read), ...next };
      },
      chain: async () => ({
        rows: rowsOfPayment(Math.floor(FORGED / 2))
          .map(forged)
          .map(read),
      }),
    },
    archive: archivedLines({
      names: async (_prefix, after, most) => {
        const begin = LINES_NAME.test(after) ? placeOf(after) + 1 : 0;
        const end = Math.min(Math.ceil(transitions / OBJECT), begin + most);
        return Array.from({ length: Math.max(0, end - begin) }, (_, index) => objectAt(begin + index).name);
      },
      text: async (name) => objectAt(placeOf(name)).text,
    }),
    parts,
    save: () => undefined,
  },
  { bounds: NO_BOUNDS },
);
parts.close();
/** On Linux, `maxRSS` is at least the size of the parent process, so `VmHWM` is read instead. */
function peakKilobytes(): number {
  const { maxRSS } = process.resourceUsage();
  if (process.platform !== 'linux') return maxRSS;
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? maxRSS);
}

const peakMegabytes = Math.ceil(peakKilobytes() / 1024);
process.stdout.write(JSON.stringify({ counts, kinds: findings.map(({ kind }) => kind), peakMegabytes }));
