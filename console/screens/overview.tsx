import { useState } from 'preact/hooks';
import type { Schemas } from '../api.ts';
import { Loaded, useRead } from '../parts.tsx';
import { Plot, type Series } from '../plot.tsx';
import { age, dayOf, money } from '../show.ts';

type Volume = Schemas['Volume'];
type Queue = Schemas['QueueList']['data'][number];

const RANGES = [7, 31, 92] as const;
const MODES = ['live', 'test'] as const;
const DAY_SECONDS = 86_400;

/** What the bars count: the types of events in each of them. */
const OUTCOMES: readonly (Pick<Series, 'name' | 'kind'> & { readonly of: readonly Volume['outcome'][] })[] = [
  { name: 'completed', kind: 'good', of: ['payment.completed'] },
  { name: 'failed', kind: 'bad', of: ['payment.failed'] },
  { name: 'canceled', kind: 'soft', of: ['payment.canceled'] },
  { name: 'unknown, for a person', kind: 'open', of: ['payment.review_required'] },
];
const MONEY: typeof OUTCOMES = [
  { name: 'captured', kind: 'good', of: ['payment.completed'] },
  { name: 'refunded', kind: 'soft', of: ['refund.completed'] },
  { name: 'disputed', kind: 'bad', of: ['dispute.opened'] },
];

/** What waits for a person, and how a tenant's payments ended by day. */
export function Overview({ filters }: { readonly filters: URLSearchParams }) {
  return (
    <>
      <h1>Overview</h1>
      <ForPersons />
      <Tenants filters={filters} />
    </>
  );
}

/** What no job ends. */
function ForPersons() {
  const queues = useRead<Schemas['QueueList']>('/v1/admin/queues');
  const approvals = useRead<Schemas['ApprovalList']>('/v1/admin/approvals?limit=100');
  const differences = useRead<Schemas['MismatchList']>('/v1/admin/mismatches?limit=100');
  return (
    <section aria-labelledby="for-persons">
      <h2 id="for-persons">Waits for a person</h2>
      <div class="cards">
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
            data
              .filter(({ waiting, job }) => waiting > 0 || job === null)
              .map((queue) => <QueueCard key={queue.id} queue={queue} />)
          }
        </Loaded>
      </div>
    </section>
  );
}

function QueueCard({
  queue: { id, description, waiting, more_waiting: more, oldest_age: oldest, job },
}: {
  readonly queue: Queue;
}) {
  const told = [
    description,
    waiting > 0 && oldest !== null && `The oldest: ${age(oldest)}.`,
    job !== null && `The job ${job} empties it.`,
  ];
  return <Card to={`waiting/${id}`} title={id} count={waiting} more={more} told={told.filter(Boolean).join(' ')} />;
}

function Card({
  to,
  title,
  count,
  more,
  told,
}: {
  readonly to: string;
  readonly title: string;
  readonly count: number;
  readonly more: boolean;
  readonly told?: string;
}) {
  return (
    <a class={count === 0 ? 'card' : 'card waits'} href={`#/${to}`}>
      <b>
        {count}
        {more && '+'}
      </b>{' '}
      {title}
      {told !== undefined && <small>{told}</small>}
    </a>
  );
}

function Tenants({ filters }: { readonly filters: URLSearchParams }) {
  const tenants = useRead<Schemas['TenantList']>('/v1/admin/tenants?limit=100');
  const [range, setRange] = useState<number>(RANGES[1]);
  return (
    <Loaded of={tenants}>
      {({ data }) => {
        const chosen = filters.get('tenant') ?? data[0]?.id;
        if (chosen === undefined) return <p>There is no tenant.</p>;
        return (
          <section aria-labelledby="volumes">
            <h2 id="volumes">Payments by day</h2>
            <div class="acts">
              <label>
                Tenant
                <select
                  value={chosen}
                  onChange={({ currentTarget }) => (location.hash = `#/overview?tenant=${currentTarget.value}`)}
                >
                  {(data.some(({ id }) => id === chosen) ? data : [{ id: chosen, name: '' }, ...data]).map(
                    ({ id, name }) => (
                      <option key={id} value={id}>
                        {name === '' ? id : `${name} (${id})`}
                      </option>
                    ),
                  )}
                </select>
              </label>
              <label>
                Days
                <select value={range} onChange={({ currentTarget }) => setRange(Number(currentTarget.value))}>
                  {RANGES.map((each) => (
                    <option key={each}>{each}</option>
                  ))}
                </select>
              </label>
            </div>
            {MODES.map((mode) => (
              <Volumes key={`${chosen} ${mode}`} tenant={chosen} mode={mode} range={range} />
            ))}
          </section>
        );
      }}
    </Loaded>
  );
}

function Volumes({ tenant, mode, range }: { readonly tenant: string; readonly mode: string; readonly range: number }) {
  const [today] = useState(Date.now() / 1000);
  const days = Array.from({ length: range }, (_day, index) => dayOf(today - (range - 1 - index) * DAY_SECONDS));
  const read = useRead<Schemas['VolumeList']>(
    `/v1/reports/volume?from=${days[0]}&to=${days.at(-1)}`,
    `${tenant}/${mode}`,
  );
  return (
    <section aria-label={`In ${mode} mode`}>
      <h3>In {mode} mode</h3>
      <Loaded of={read}>
        {({ data }) => {
          const currencies = [...new Set(data.map(({ currency }) => currency))];
          if (currencies.length === 0) return <p>Nothing ended in these days.</p>;
          const count = (value: number) => String(value);
          return (
            <>
              <Plot title="Outcomes" days={days} series={seriesOf(OUTCOMES, data, days, 'count')} shown={count} />
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
        }}
      </Loaded>
    </section>
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
