import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Refused } from '../api.ts';
import { Fact, Trouble } from '../parts.tsx';
import { Table } from '../table.tsx';
import type { Authority, LabRun, LabSide, LabState, LabTrouble } from './answers.ts';
import '../style.css';

const POLL_INTERVAL_MS = 500;

async function call<Answer>(path: string, body?: unknown): Promise<Answer> {
  const answer = await fetch(path, {
    cache: 'no-store',
    ...(body === undefined
      ? {}
      : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  const read: unknown = await answer.json();
  if (!answer.ok) throw new Refused(answer.status, read as Partial<Record<string, string>>);
  return read as Answer;
}

function useLab(): {
  readonly lab?: LabState;
  readonly error?: unknown;
  readonly begin: (trouble: string, authority: Authority) => void;
} {
  const [lab, setLab] = useState<LabState>();
  const [error, setError] = useState<unknown>();
  const [refusal, setRefusal] = useState<unknown>();
  useEffect(() => {
    const poll = async () => {
      try {
        setLab(await call<LabState>('lab'));
        setError(undefined);
      } catch (problem) {
        setError(problem);
      }
    };
    void poll();
    const timer = setInterval(() => void poll(), POLL_INTERVAL_MS);
    return () => clearInterval(timer);
  }, []);
  const begin = (trouble: string, authority: Authority) => {
    setRefusal(undefined);
    call<LabRun>('lab/runs', { trouble, authority }).then(
      (run) => setLab((now) => now && { ...now, runs: [run, ...now.runs.filter(({ id }) => id !== run.id)] }),
      (problem: unknown) => setRefusal(problem),
    );
  };
  return { ...(lab === undefined ? {} : { lab }), error: refusal ?? error, begin };
}

function Lab() {
  const { lab, error, begin } = useLab();
  const [chosen, setChosen] = useState('crash');
  const [authority, setAuthority] = useState<Authority>();
  const newest = lab?.runs[0];
  const isBusy = newest?.state === 'running';
  return (
    <>
      <header>
        <strong>Payonce lab</strong>
        {lab !== undefined && (
          <nav aria-label="Console">
            <a href={`${lab.console}/`}>Console</a>
          </nav>
        )}
      </header>
      <main>
        <h1>One failure, two shops</h1>
        <p>
          Causes the same failure at a naive shop and at Payonce, and counts the results at the processor, in the books,
          on the bus and at the consumer. Exactly once is 1 of each, or 0 where the processor refuses.
        </p>
        {error !== undefined && <Trouble error={error} />}
        {lab !== undefined && (
          <>
            <AuthorityChoice chosen={authority ?? lab.authority} own={lab.authority} choose={setAuthority} />
            <Choice troubles={lab.troubles} chosen={chosen} choose={setChosen} />
            <p class="choices">
              <button
                type="button"
                class="main"
                disabled={isBusy}
                onClick={() => begin(chosen, authority ?? lab.authority)}
              >
                Run
              </button>
              {isBusy && <span>The lab runs one failure at a time. Wait for this one to finish.</span>}
            </p>
            {newest !== undefined && <Run run={newest} />}
            <Results runs={lab.runs} head={lab.head} />
          </>
        )}
      </main>
    </>
  );
}

function Choice({
  troubles,
  chosen,
  choose,
}: {
  readonly troubles: readonly LabTrouble[];
  readonly chosen: string;
  readonly choose: (id: string) => void;
}) {
  return (
    <label>
      Trouble
      <select value={chosen} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        {troubles.map(({ id, trouble, isInDemo }) => (
          <option key={id} value={id}>
            {isInDemo ? trouble : `${trouble} (only in the lab)`}
          </option>
        ))}
      </select>
    </label>
  );
}

const AUTHORITIES: Readonly<Record<Authority, string>> = { dynamodb: 'DynamoDB', postgres: 'PostgreSQL' };

function AuthorityChoice({
  chosen,
  own,
  choose,
}: {
  readonly chosen: Authority;
  readonly own: Authority;
  readonly choose: (authority: Authority) => void;
}) {
  return (
    <>
      <label>
        Payonce’s database
        <select value={chosen} onChange={({ currentTarget }) => choose(currentTarget.value as Authority)}>
          {Object.entries(AUTHORITIES).map(([authority, name]) => (
            <option key={authority} value={authority}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {chosen !== own && <p>The first run with this database starts a second local stack, which can take minutes.</p>}
    </>
  );
}

const STATES = { running: 'Running', done: 'Done', failed: 'Failed' } as const;

function Run({ run: { trouble, authority, state, steps, naive, payonce, error } }: { readonly run: LabRun }) {
  return (
    <section aria-labelledby="run">
      <h2 id="run">{trouble.trouble}</h2>
      <p role="status">
        {STATES[state]}
        {state === 'running' && `: ${steps.at(-1) ?? 'beginning'} …`}
      </p>
      <p>Payonce’s database: {AUTHORITIES[authority]}</p>
      {error !== undefined && <Trouble error={new Error(`The run failed: ${error}.`)} />}
      <div class="cards">
        <Side name="Naive shop" side={naive} moves={trouble.moves} />
        <Side name="Payonce" side={payonce} moves={trouble.moves} />
      </div>
      <details>
        <summary>Steps</summary>
        <ol>
          {steps.map((step, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: steps are only appended
            <li key={index}>{step}</li>
          ))}
        </ol>
      </details>
    </section>
  );
}

function Side({
  name,
  side: { payment, timeline, counts, verdict, isExact },
  moves,
}: {
  readonly name: string;
  readonly side: LabSide;
  readonly moves: LabTrouble['moves'];
}) {
  return (
    <section class="card" aria-label={name}>
      <h3>{name}</h3>
      {counts === undefined ? (
        <p>{payment === undefined ? 'This failure has not been caused yet.' : 'Counting …'}</p>
      ) : (
        <dl class="facts">
          <Fact name={moves === 'charge' ? 'Charges' : 'Refunds'} value={counts.atProcessor} />
          <Fact name="Postings" value={counts.postings} />
          <Fact name="Events" value={counts.events} />
          <Fact name="Effects" value={counts.effects} />
        </dl>
      )}
      {verdict !== undefined && (
        <p>
          <strong class={isExact === true ? '' : 'trouble'}>{verdict}</strong>
        </p>
      )}
      {payment !== undefined && (
        <p>
          Payment <code>{payment}</code>
          {timeline !== undefined && (
            <>
              {' '}
              <a href={timeline}>Timeline of the payment</a>
            </>
          )}
        </p>
      )}
    </section>
  );
}

function Results({ runs, head }: { readonly runs: readonly LabRun[]; readonly head: readonly string[] }) {
  const rows = runs.flatMap(({ row }) => (row === undefined ? [] : [row]));
  if (rows.length === 0) return null;
  return (
    <>
      <h2>Results</h2>
      <p>Counts are charges (or refunds) / postings / events / effects.</p>
      <Table
        label="Results"
        rows={rows}
        columns={head.map((title, index) => ({
          title,
          of: (row: readonly string[]) => row[index],
          ...(index === 1 || index === 2 ? { isNumber: true } : {}),
        }))}
      />
    </>
  );
}

const place = document.getElementById('lab');
if (place !== null) render(<Lab />, place);
