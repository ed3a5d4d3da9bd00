import { useState } from 'preact/hooks';
import { may, type Schemas } from '../api.ts';
import { Empty, Loaded } from '../parts.tsx';
import { usePlace } from '../place.ts';
import { Plot, type Series } from '../plot.tsx';
import { useApi, useRead } from '../reading.ts';
import { age, count, dayOf, money, queueTitle } from '../show.ts';

type Volume = Schemas['Volume'];
type Queue = Schemas['QueueList']['data'][number];

const RANGES = [7, 31, 92] as const;
const MODES = ['live', 'test'] as const;
/** Maximum number of tenants that are shown; each costs two requests. */
const MAX_TENANTS = 10;
const DAY_SECONDS = 86_400;

/** The event types that each bar counts. */
const OUTCOMES: readonly (Pick<Series, 'name' | 'kind'> & { readonly of: readonly Volume['outcome'][] })[] = [
  { name: 'completed', kind: 'good', of: ['payment.completed'] },
  { name: 'failed', kind: 'bad', of: ['payment.failed'] },
  { name: 'canceled', kind: 'soft', of: ['payment.canceled'] },
  { name: 'unknown, needs an operator', kind: 'open', of: ['payment.review_required'] },
];
const MONEY: typeof OUTCOMES = [
  { name: 'captured', kind: 'good', of: ['payment.completed'] },
  { name: 'refunded', kind: 'soft', of: ['refund.completed'] },
  { name: 'disputed', kind: 'bad', of: ['dispute.opened'] },
];

/** Shows work that waits for an operator, and the outcomes of a tenant's payments by day. */
export function Overview() {
  const { tenant, mode, tenants, isUnknown } = usePlace();
  return (
    <>
      <h1>Overview</h1>
      <ForPersons asked={askedOf(tenant, tenants)} isAll={tenants.length <= MAX_TENANTS} />
      {tenant === undefined || isUnknown ? (
        <Empty
          title={tenant === undefined ? 'No tenant is chosen.' : `This deployment has no tenant ${tenant}.`}
          hint="Choose a tenant and a mode at the top of the page to see its payments by day."
        />
      ) : (
        <Volumes tenant={tenant} mode={mode} />
      )}
    </>
  );
}

function askedOf(chosen: string | undefined, data: readonly { readonly id: string }[]): readonly string[] {
  const ids = data.slice(0, MAX_TENANTS).map(({ id }) => id);
  return chosen === undefined ? ids : [...new Set([chosen, ...ids])];
}

/**
 * Shows the work that waits for a person: payments to decide, approvals, differences and queue entries that no job can
 * finish.
 */
function ForPersons({ asked, isAll }: { readonly asked: readonly string[]; readonly isAll: boolean }) {
  const queues = useRead<Schemas['QueueList']>('/v1/admin/queues');
  const approvals = useRead<Schemas['ApprovalList']>('/v1/admin/approvals?limit=100');
  const differences = useRead<Schemas['MismatchList']>('/v1/admin/mismatches?limit=100');
  return (
    <section aria-labelledby="for-persons">
      <h2 id="for-persons">Waits for a person</h2>
      {!isAll && <p>Payments to decide are shown for {asked.length} tenants. Choose another tenant below.</p>}
      <div class="cards">
        {asked.flatMap((tenant) =>
          MODES.map((mode) => <ToDecide key={`${tenant} ${mode}`} tenant={tenant} mode={mode} />),
        )}
        <Loaded of={approvals}>
          {({ data, has_more: more }) => (
            <Card
              to="approvals"
              title="Approvals to give"
              count={data.filter(({ status }) => status === 'pending_approval').length}
              more={more}
            />
          )}
        </Loaded>
        <Loaded of={differences}>
          {({ data, has_more: more }) => (
            <Card
              to="differences"
              title="Confirmed differences"
              count={data.filter(({ status }) => status === 'confirmed').length}
              more={more}
            />
          )}
        </Loaded>
        <Loaded of={queues}>
          {({ data }) =>
            data.filter(({ job }) => job === null).map((queue) => <QueueCard key={queue.id} queue={queue} />)
          }
        </Loaded>
      </div>
      <Loaded of={queues}>
        {({ data }) => <ForJobs waiting={data.filter((each) => each.job !== null && each.waiting > 0)} />}
      </Loaded>
    </section>
  );
}

/**
 * Shows the payments that no job can finish, because the processor's answers do not determine their outcome. Operators
 * read the tenant's list, which has an index by status. Viewers may not read this list, and read the list of all
 * tenants with a filter instead.
 */
function ToDecide({ tenant, mode }: { readonly tenant: string; readonly mode: string }) {
  const { self } = useApi();
  const filters = new URLSearchParams({ tenant, mode, status: 'needs_review' }).toString();
  const [path, owner] = may(self, 'operator')
    ? ['/v1/payments?status=needs_review&limit=100', `${tenant}/${mode}`]
    : [`/v1/admin/payments?${filters}&limit=100`];
  const read = useRead<Schemas['PaymentList']>(path, owner);
  return (
    <Loaded of={read}>
      {({ data, has_more: more }) =>
        (data.length > 0 || more) && (
          <Card
            to={`payments?${filters}`}
            title="Payments to decide"
            count={data.length}
            more={more}
            details={`Payments of ${tenant} in ${mode} mode. Only an operator can determine their outcome.`}
          />
        )
      }
    </Loaded>
  );
}

function ForJobs({ waiting }: { readonly waiting: readonly Queue[] }) {
  if (waiting.length === 0) return <></>;
  return (
    <>
      <h2>Waits for a job</h2>
      <div class="cards">
        {waiting.map((queue) => (
          <QueueCard key={queue.id} queue={queue} />
        ))}
      </div>
    </>
  );
}

function QueueCard({
  queue: { id, description, waiting, more_waiting: more, oldest_age: oldest, job },
}: {
  readonly queue: Queue;
}) {
  const parts = [
    description,
    waiting > 0 && oldest !== null && `The oldest: ${age(oldest)}.`,
    job !== null && `The job ${job} empties this queue.`,
  ];
  const text = parts.filter(Boolean).join(' ');
  return (
    <Card
      to={`waiting/${id}`}
      title={queueTitle(id)}
      count={waiting}
      more={more}
      details={text}
      isCalm={job !== null}
    />
  );
}

function Card({
  to,
  title,
  count: found,
  more,
  details,
  isCalm,
}: {
  readonly to: string;
  readonly title: string;
  readonly count: number;
  readonly more: boolean;
  readonly details?: string;
  /** True if entries of this queue need no operator. */
  readonly isCalm?: boolean;
}) {
  return (
    <a class={found === 0 || isCalm === true ? 'card' : 'card waits'} href={`#/${to}`}>
      <b>
        {count(found)}
        {more && '+'}
      </b>{' '}
      {title}
      {details !== undefined && <small>{details}</small>}
    </a>
  );
}

/** Shows the outcomes and the money of the tenant's payments by day. */
function Volumes({ tenant, mode }: { readonly tenant: string; readonly mode: string }) {
  const [range, setRange] = useState<number>(RANGES[1]);
  const [today] = useState(Date.now() / 1000);
  const days = Array.from({ length: range }, (_day, index) => dayOf(today - (range - 1 - index) * DAY_SECONDS));
  const read = useRead<Schemas['VolumeList']>(
    `/v1/reports/volume?from=${days[0]}&to=${days.at(-1)}`,
    `${tenant}/${mode}`,
  );
  return (
    <section aria-labelledby="volumes">
      <h2 id="volumes">
        Payments by day, {tenant} in {mode} mode
      </h2>
      <label class="inline">
        Days
        <select value={range} onChange={({ currentTarget }) => setRange(Number(currentTarget.value))}>
          {RANGES.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <Loaded of={read}>{({ data }) => <Plots data={data} days={days} />}</Loaded>
    </section>
  );
}

function Plots({ data, days }: { readonly data: readonly Volume[]; readonly days: readonly string[] }) {
  const currencies = [...new Set(data.map(({ currency }) => currency))];
  if (currencies.length === 0)
    return (
      <Empty
        title="Nothing ended in these days."
        hint="Choose more days, or the other mode at the top of the page. New payments appear within seconds."
      />
    );
  return (
    <>
      <Plot
        title="Outcomes"
        days={days}
        series={seriesOf(OUTCOMES, data, days, 'count')}
        shown={(value) => count(value)}
      />
      {currencies.map((currency) => (
        <Plot
          key={currency}
          title={`Money in ${currency}`}
          days={days}
          series={seriesOf(
            MONEY,
            data.filter((each) => each.currency === currency),
            days,
            'amount',
          )}
          shown={(value) => money(value, currency)}
        />
      ))}
    </>
  );
}

function sum(volumes: readonly Volume[], types: readonly Volume['outcome'][], what: 'count' | 'amount'): number {
  return volumes.filter(({ outcome }) => types.includes(outcome)).reduce((total, volume) => total + volume[what], 0);
}

function seriesOf(
  groups: typeof OUTCOMES,
  volumes: readonly Volume[],
  days: readonly string[],
  what: 'count' | 'amount',
): readonly Series[] {
  return groups.map(({ name, kind, of }) => ({
    name,
    kind,
    values: days.map((day) =>
      sum(
        volumes.filter(({ date }) => date === day),
        of,
        what,
      ),
    ),
  }));
}
