/** Oracle: no object of one tenant or mode appears in the data of another tenant or mode. */
import { RegistryRow, ViewsRow } from '../../../../lambdas/kernel/contract/rows.ts';
import type { Payment } from '../../../../lambdas/payments/domain/payment.ts';
import { parseViewRow } from '../../../../lambdas/views/store/dynamodb-views.ts';
import { parseBook } from '../../../../lambdas/webhooks/store/webhook-items.ts';
import type { ClientCall, SimulatedTenant, Violation } from '../contract.ts';
import { booksOf } from '../processors.ts';
import type { Seen } from './seen.ts';

const ORACLE = 'F10 tenants and modes are isolated';

type Owned = Pick<SimulatedTenant, 'mode'> & { readonly tenantId: string };

const nameOf = ({ tenantId, mode }: Owned): string => `${tenantId}#${mode}`;

/** Returns the owner (tenant and mode) of each payment, order and endpoint, by id. */
function ownersOf({ world, payments, orders }: Seen): ReadonlyMap<string, string> {
  const { database, tables } = world;
  const books = database.items(tables.registry, RegistryRow.webhookEndpoints).map(parseBook);
  return new Map([
    ...[...payments].flatMap(([id, [first]]) =>
      first === undefined ? [] : [[id, nameOf(first.row.payment)] as const],
    ),
    ...[...orders].flatMap(([id, [first]]) => (first === undefined ? [] : [[id, nameOf(first.row.order)] as const])),
    ...books.flatMap((book) => book.endpoints.map(({ id }) => [id, nameOf(book)] as const)),
  ]);
}

/** Called once the system is quiet. */
export function checkOwners(seen: Seen): readonly Violation[] {
  const owners = ownersOf(seen);
  const found: Violation[] = [];
  const { world } = seen;
  const mustBe = (owner: string | undefined, id: string, where: string): void => {
    const own = owners.get(id);
    if (own !== undefined && owner !== undefined && own !== owner)
      found.push({ oracle: ORACLE, what: `${where} of ${owner} contains an object of ${own}`, about: id });
  };
  for (const call of world.calls) {
    // Operators belong to no tenant.
    const asking = call.path.startsWith('/v1/admin/') ? undefined : world.tenants[call.tenant];
    if (asking !== undefined) for (const id of idsInAnswer(call)) mustBe(nameOf(asking), id, 'an answer');
  }
  for (const { detail } of world.published) {
    const { tenant, mode, ...event } = detail as { readonly tenant: string; readonly mode: Owned['mode'] };
    for (const id of idsIn(JSON.stringify(event))) mustBe(nameOf({ tenantId: tenant, mode }), id, 'an event');
  }
  for (const { endpointId, body } of world.webhooks) {
    for (const id of idsIn(body)) mustBe(owners.get(endpointId), id, `a webhook to ${endpointId}`);
  }
  for (const row of world.database.items(world.tables.views).map(parseViewRow)) {
    const owner = /ten_[a-z_]+#(?:test|live)/.exec(`${row.partition} ${row.list}`)?.[0];
    if (row.chainId !== undefined && !row.partition.startsWith(ViewsRow.allMismatches))
      mustBe(owner, row.chainId, `the list ${row.partition}`);
  }
  return [...found, ...charges(seen)];
}

function charges({ world, payments }: Seen): readonly Violation[] {
  const found: Violation[] = [];
  const booksWith = new Map<string, string>();
  const wrong = (what: string, about: string): void => void found.push({ oracle: ORACLE, what, about });
  for (const [name, { inside, mode }] of Object.entries(world.processors)) {
    for (const { chargeId } of inside.all) booksWith.set(chargeId, name);
    for (const { paymentId, kind } of inside.sent) {
      const own = payments.get(paymentId)?.[0]?.row.payment.mode;
      if (own !== undefined && own !== mode) wrong(`a ${kind} of ${own} mode was sent to ${name}`, paymentId);
    }
  }
  for (const [id, chain] of payments) {
    for (const { row } of chain) {
      for (const chargeId of chargesIn(row.payment, row.subject)) {
        const where = booksWith.get(chargeId);
        // An operator may name any charge. The next read of the processor's books reports that the charge is missing
        // there.
        const isNamed = chain.some(
          ({ row: { subject, payment } }) => subject?.kind === 'decision' && payment.chargeId === chargeId,
        );
        if (where !== undefined && where !== booksOf(row.payment) && !isNamed)
          wrong(`has ${chargeId}, which is in ${where}`, id);
      }
    }
  }
  return found;
}

function chargesIn({ chargeId }: Payment, subject: object | undefined): readonly string[] {
  const ofSubject = subject !== undefined && 'chargeId' in subject ? [String(subject.chargeId)] : [];
  return [...(chargeId === undefined ? [] : [chargeId]), ...ofSubject];
}

function idsIn(text: string): readonly string[] {
  return text.match(/(?:(?:pay|ord)_[a-z2-7]{32}|we_\w+)/g) ?? [];
}

/** If the request was rejected, omits the ids that the request contained. */
function idsInAnswer({ path, body, answer }: ClientCall): readonly string[] {
  const asked = `${path} ${JSON.stringify(body)}`;
  const isFound = answer !== undefined && answer.status < 300;
  return idsIn(answer?.body ?? '').filter((id) => isFound || !asked.includes(id));
}
