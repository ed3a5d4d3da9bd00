import { firstBrokenEntry } from '../../activity/domain/activity.ts';
import { activityRow, parseActivity } from '../../activity/store/dynamodb-activity.ts';
import { LedgerRow } from '../../kernel/contract/rows.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import type { Link } from '../../kernel/hash-chain.ts';
import type { Item } from '../../kernel/platform/items.ts';
import { systemDigest } from '../../kernel/platform/platform.ts';
import { firstBrokenOrderLink } from '../../orders/domain/order-transition.ts';
import { orderTransitionRow, parseOrderTransition } from '../../orders/store/order-items.ts';
import { firstBrokenLink } from '../../payments/domain/transition.ts';
import { parseTransition, transitionRow } from '../../payments/store/items.ts';
import type { ChainRow } from '../domain/chain-row.ts';
import { predecessorOf } from '../domain/judge-chain.ts';
import { valueText } from '../domain/row-text.ts';

interface ReadLink {
  readonly link: Link & { readonly occurredAtMs: number };
  readonly broken: number | undefined;
  /** The row as Payonce would write it for this content. */
  readonly written: Item;
}

const READERS: Readonly<Record<string, (item: Item) => ReadLink>> = {
  [LedgerRow.payment]: (item) => {
    const link = parseTransition(item);
    return { link, broken: firstBrokenLink(systemDigest, [link], predecessorOf(link)), written: transitionRow(link) };
  },
  [LedgerRow.order]: (item) => {
    const link = parseOrderTransition(item);
    return {
      link,
      broken: firstBrokenOrderLink(systemDigest, [link], predecessorOf(link)),
      written: orderTransitionRow(link),
    };
  },
  [LedgerRow.activity]: (item) => {
    const link = parseActivity(item);
    return { link, broken: firstBrokenEntry(systemDigest, [link], predecessorOf(link)), written: activityRow(link) };
  },
};

/** Name of an attribute that only traced executions write. The hash does not cover it. */
const TRACE = 'trace';

/** Digest length, in bytes. At 16 bytes, finding another content with the digest of a given row is infeasible. */
const DIGEST_BYTES = 16;

/** Never throws: the content of a row that cannot be parsed is `unreadable`. */
export function readChainRow(item: Item): ChainRow {
  const chain = String(item[KeyAttribute.partition]);
  const sort = String(item[KeyAttribute.sort]);
  const bytes = systemDigest.sha256(valueText(item) ?? '').subarray(0, DIGEST_BYTES);
  const digest = Buffer.from(bytes).toString('base64url');
  return { chain, sort, digest, content: contentOf(item, chain) };
}

function contentOf(item: Item, chain: string): ChainRow['content'] {
  const [prefix = ''] = chain.split(/(?<=#)/);
  const read = READERS[prefix];
  if (read === undefined) return { kind: 'unreadable', because: 'the Ledger has no rows of this kind' };
  try {
    const { link, broken, written } = read(item);
    const { sequence, prevHash, hash, occurredAtMs } = link;
    const differing = differingAttributes(item, written);
    return { kind: 'link', link: { sequence, prevHash, hash }, occurredAtMs, holds: broken === undefined, differing };
  } catch (error) {
    return { kind: 'unreadable', because: reasonOf(error) };
  }
}

function differingAttributes(item: Item, written: Item): readonly string[] {
  const names = new Set([...Object.keys(item), ...Object.keys(written)]);
  names.delete(TRACE);
  return [...names].filter((name) => valueText(item[name]) !== valueText(written[name])).sort();
}

export function reasonOf(error: unknown): string {
  const { issues } = error as {
    readonly issues?: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
  };
  const [issue] = issues ?? [];
  if (issue !== undefined) return `${issue.path.map(String).join('.')}: ${issue.message}`;
  return error instanceof Error ? error.message : String(error);
}
