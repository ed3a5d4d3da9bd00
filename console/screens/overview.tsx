import { useEffect, useState } from 'preact/hooks';
import type { Schemas } from '../api.ts';
import { apiNowMs } from '../clock.ts';
import { Empty, Fact, Loaded, Time } from '../parts.tsx';
import { usePlace } from '../place.ts';
import { Plot, type Series } from '../plot.tsx';
import { useRead } from '../reading.ts';
import { age, count, dayOf, money, queueTitle } from '../show.ts';
import { NeedsPerson } from './attention.tsx';
import { NO_MANIFEST, VERIFICATIONS } from './audit.tsx';
import { waitingText } from './waiting.tsx';

type Volume = Schemas['Volume'];
type Queue = Schemas['QueueList']['data'][number];

const RANGES = [7, 31, 92] as const;
const EVERY_MS = 30_000;
/** Each read of the verifications reads files of the archive, and the auditor runs at most once an hour. */
const AUDIT_EVERY_MS = 600_000;
const DAY_SECONDS = 86_400;

/** An event stays counted on its day, whatever happens to the payment later. */
const OUTCOMES: readonly (Pick<Series, 'name' | 'kind'> & { readonly of: readonly Volume['outcome'][] })[] = [
  { name: 'completed', kind: 'good', of: ['payment.completed'] },
  { name: 'failed', kind: 'bad', of: ['payment.failed'] },
  { name: 'canceled', kind: 'soft', of: ['payment.canceled'] },
  { name: 'sent to review', kind: 'open', of: ['payment.review_required'] },
];
const MONEY: typeof OUTCOMES = [
  { name: 'captured', kind: 'good', of: ['payment.completed'] },
  { name: 'refunded', kind: 'soft', of: ['refund.completed'] },
  { name: 'disputed', kind: 'bad', of: ['dispute.opened'] },
];

export function Overview() {
  const { tenant, mode, isUnknown } = usePlace();
  return (
    <>
      <h1>Overview</h1>
      <OverdueVerifications />
      <NeedsPerson />
      <ForJobs />
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

/** A changed row of the Ledger could remain unnoticed until the auditor runs. */
function OverdueVerifications() {
  const { to } = usePlace();
  const { answer } = useRead<Schemas['Audit']>('/v1/admin/audit', undefined, AUDIT_EVERY_MS);
  const overdue = (answer?.verified ?? []).filter((each) => each.overdue);
  if (overdue.length === 0 && answer?.manifests_overdue !== true) return <></>;
  return (
    <section aria-label="Overdue verifications" class="trouble">
      {overdue.map(({ kind, due }) => (
        <p key={kind}>
          The verification “{VERIFICATIONS[kind].title}” is overdue since <Time at={due} />.
        </p>
      ))}
      {answer?.manifests_overdue === true && <p>{NO_MANIFEST}</p>}
      <p>
        Find out why the auditor does not run. See the screen <a href={to('audit')}>Audit</a>.
      </p>
    </section>
  );
}

/** An operator is needed only if the entries are old. */
function ForJobs() {
  const { answer } = useRead<Schemas['QueueList']>('/v1/admin/queues', undefined, EVERY_MS);
  const waiting = (answer?.data ?? []).filter((each) => each.job !== null && each.waiting !== 0);
  if (waiting.length === 0) return <></>;
  return (
    <>
      <h2>Work for jobs</h2>
      <div class="cards">
        {waiting.map((queue) => (
          <QueueCard key={queue.id} queue={queue} />
        ))}
      </div>
    </>
  );
}

function QueueCard({ queue }: { readonly queue: Queue }) {
  const { id, description, oldest_age: oldest, job } = queue;
  const oldestText = oldest === null ? '' : `The oldest: ${age(oldest)}. `;
  return (
    <a class="card" href={`#/waiting/${id}`}>
      <b>{waitingText(queue)}</b> {queueTitle(id)}
      <small>
        {description} {oldestText}The job {job} empties this queue.
      </small>
    </a>
  );
}

const todayOfApi = () => dayOf(apiNowMs() / 1000);

function Volumes({ tenant, mode }: { readonly tenant: string; readonly mode: string }) {
  const [range, setRange] = useState<number>(RANGES[1]);
  const [today, setToday] = useState(todayOfApi);
  useEffect(() => {
    const timer = setInterval(() => setToday(todayOfApi()), EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  const days = Array.from({ length: range }, (_day, index) =>
    dayOf(Date.parse(today) / 1000 - (range - 1 - index) * DAY_SECONDS),
  );
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
        title="No payment had an outcome on these days."
        hint="Choose more days, or the other mode at the top of the page. New payments appear within seconds."
      />
    );
  return (
    <>
      <p class="soft-text">
        Each day counts what was recorded on it. A payment that was sent to review stays counted on that day after its
        decision, which counts on its own day. “Needs a person” shows the payments that are in review now.
      </p>
      <NewestDays data={data} days={days} />
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
          isSideBySide
        />
      ))}
    </>
  );
}

/** The sums of the plots do not show these figures. */
function NewestDays({ data, days }: { readonly data: readonly Volume[]; readonly days: readonly string[] }) {
  const currencies = [...new Set(data.map(({ currency }) => currency))];
  const named = [
    ['Today', days.at(-1)],
    ['Yesterday', days.at(-2)],
  ] as const;
  return (
    <dl class="facts">
      {named.map(([name, day]) => {
        const ofDay = data.filter(({ date }) => date === day);
        const captured = currencies
          .map((currency) => [currency, sum(inCurrency(ofDay, currency), ['payment.completed'], 'amount')] as const)
          .filter(([, amount]) => amount > 0);
        const counts = OUTCOMES.map(
          ({ name: outcome, of: types }) => `${outcome} ${count(sum(ofDay, types, 'count'))}`,
        );
        return (
          <Fact
            key={name}
            name={`${name} (UTC)`}
            value={[
              ...counts.slice(0, 2),
              ...captured.map(([currency, amount]) => `${money(amount, currency)} captured`),
            ].join(', ')}
          />
        );
      })}
    </dl>
  );
}

function inCurrency(volumes: readonly Volume[], currency: string): readonly Volume[] {
  return volumes.filter((each) => each.currency === currency);
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
