import { type BookingInput, book } from '../../lambdas/payments/domain/bookings.ts';
import { PAYMENT_STATUSES, type PaymentStatus } from '../../lambdas/payments/domain/payment.ts';
import { ACCOUNTS } from '../../lambdas/payments/domain/posting.ts';
import {
  type Cell,
  CHARGE_ROW_MEANINGS,
  CHARGE_TABLE,
  DISPUTE_TABLE,
  type Posts,
  REFUND_TABLE,
} from '../../lambdas/payments/domain/state-tables.ts';

/** Keyed by the name in the section's markers. */
const SECTIONS: Readonly<Record<string, () => string>> = { diagram };

export function stateTablesPage(): string {
  return `# State tables

The tables of [the states of a payment](../../docs/reference/state-machine.md), from the code that decides.

## Charges

${charges()}

## Refunds

\`none\` is a refund that is not known yet.

${refunds()}

## Disputes

${disputes()}

## Postings

For a payment of 1000 with a fee of 59, in minor units:

${bookings()}
`;
}

/** @throws Error naming a section whose markers are missing from the document, or occur more than once */
export function fill(document: string, sections = SECTIONS): string {
  return Object.entries(sections).reduce((text, [name, make]) => {
    const [begin, end] = [`<!-- made from the code: ${name} -->\n`, `<!-- end: ${name} -->\n`];
    const [before, after, ...more] = text.split(begin);
    const rest = after?.split(end);
    if (before === undefined || more.length > 0 || rest?.length !== 2) {
      throw new Error(`the section "${name}" must occur exactly once in the document: ${begin}…${end}`);
    }
    return `${before}${begin}${make()}\n${end}${rest[1]}`;
  }, document);
}

// ----------------------------------------------------------------------------------------------------------- state tables

const NOTHING = 'nothing';

type Table = Readonly<Record<string, Readonly<Record<string, Cell>>>>;

function charges(): string {
  const meanings: Readonly<Record<string, string>> = CHARGE_ROW_MEANINGS;
  return stateTable(['fact', 'while the payment is', 'effect'], CHARGE_TABLE, (fact) => {
    return `${code(fact)}: ${meanings[fact] ?? ''}`;
  });
}

function refunds(): string {
  return stateTable(['reported', 'while known as', 'effect'], REFUND_TABLE, code);
}

function disputes(): string {
  return stateTable(['reported', 'while known as', 'effect'], DISPUTE_TABLE, code);
}

function stateTable(head: readonly string[], table: Table, labelOf: (factKind: string) => string): string {
  const rows = Object.entries(table).flatMap(([factKind, cells]) => {
    const known = Map.groupBy(Object.entries(cells), ([, cell]) => happening(cell));
    if (known.size > 1) known.delete(NOTHING);
    return [...known].map(([what, of], index) => {
      const states =
        of.length === Object.keys(cells).length ? 'any state' : of.map(([state]) => code(state)).join(', ');
      return [index === 0 ? labelOf(factKind) : '', states, what];
    });
  });
  return markdownTable(head, rows);
}

function happening(cell: Cell): string {
  if (cell.does === 'nothing') return NOTHING;
  if (cell.does === 'review') return `review: ${cell.because}`;
  const moved = cell.status === undefined ? '' : ` → ${code(cell.status)}`;
  const alarm = cell.contradicts === undefined ? '' : `, raises an alarm: ${cell.contradicts}`;
  return `${code(cell.type)}${moved}${cell.posts === undefined ? '' : `, posts ${code(cell.posts)}`}${alarm}`;
}

/** Facts that leave the state unchanged are only in the table. */
function diagram(): string {
  const ways = PAYMENT_STATUSES.flatMap((from) =>
    PAYMENT_STATUSES.map((to) => ({ from, to, facts: factsThatMove(from, to) })),
  );
  const lines = ways.flatMap(({ from, to, facts }) =>
    facts.length === 0 ? [] : [`  ${from} --> ${to} : ${facts.join(', ')}`],
  );
  return ['```mermaid', 'stateDiagram-v2', '  [*] --> processing', ...lines, '```'].join('\n');
}

function factsThatMove(from: PaymentStatus, to: PaymentStatus): readonly string[] {
  if (from === to) return [];
  return Object.entries(CHARGE_TABLE).flatMap(([fact, { [from]: cell }]) =>
    cell.does === 'append' && cell.status === to ? [fact] : [],
  );
}

// --------------------------------------------------------------------------------------------------------------- bookings

/** Minor units of EUR. */
const [CHARGED, FEE] = [1000, 59];

interface Example extends Omit<BookingInput, 'currency'> {
  readonly when: string;
}

const EXAMPLES: Readonly<Record<Posts, readonly Example[]>> = {
  receipt: [
    { when: 'money is captured', amountMinor: CHARGED },
    {
      when: 'money is captured and the fee is known',
      amountMinor: CHARGED,
      fees: [{ amountMinor: FEE, currency: 'EUR' }],
    },
  ],
  fee: [
    { when: 'the fee is reported later, or increased by this amount', amountMinor: FEE },
    { when: 'the fee decreased by this amount', amountMinor: -FEE },
  ],
  late_receipt: [{ when: 'late or stray money is found', amountMinor: CHARGED }],
  give_back: [
    { when: 'a refund succeeded', amountMinor: CHARGED },
    { when: 'a stray charge was refunded', amountMinor: CHARGED, account: 'late_receipts' },
  ],
  give_back_undone: [
    { when: 'a refund failed after it had succeeded', amountMinor: CHARGED },
    { when: 'a stray charge’s refund failed after it had succeeded', amountMinor: CHARGED, account: 'late_receipts' },
  ],
  dispute: [{ when: 'a dispute was opened, or its first report says that it was lost', amountMinor: CHARGED }],
  dispute_undone: [{ when: 'the dispute was won, directly or on appeal', amountMinor: CHARGED }],
};

function bookings(): string {
  const rows = (Object.keys(EXAMPLES) as Posts[]).flatMap((posts) =>
    EXAMPLES[posts].map(({ when, ...example }) => {
      const postings = book(posts, { ...example, currency: 'EUR' });
      const cells = ACCOUNTS.map((account) =>
        postings
          .filter((posting) => posting.account === account)
          .map(({ direction, amountMinor }) => `${direction} ${amountMinor}`)
          .join(', '),
      );
      return [`${code(posts)}: ${when}`, ...cells];
    }),
  );
  return markdownTable(['posting set', ...ACCOUNTS.map(code)], rows);
}

// --------------------------------------------------------------------------------------------------------------- Markdown

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

export function code(text: string): string {
  return `\`${text}\``;
}
