import { useState } from 'preact/hooks';
import type { Schemas } from '../api.ts';
import { inSequence } from '../in-sequence.ts';
import { Copy, Id, Time } from '../parts.tsx';
import { callResult, cause, count, utcTime, words } from '../show.ts';

export type Entry = Schemas['Timeline']['data'][number];
export type Transition = Extract<Entry, { kind: 'transition' }>;

const GROUPS: readonly { readonly title: string; readonly kinds: readonly Entry['kind'][] }[] = [
  { title: 'Payment changes', kinds: ['transition'] },
  { title: 'Requests', kinds: ['claim', 'takeover', 'answer', 'open'] },
  { title: 'Calls to the processor', kinds: ['call'] },
  { title: 'Callbacks', kinds: ['callback'] },
  { title: 'Events and webhooks', kinds: ['event', 'delivery'] },
  { title: 'Operator actions', kinds: ['act'] },
  { title: 'Alarms', kinds: ['alarm'] },
];

export function Story({
  entries,
  keys,
}: {
  readonly entries: readonly Entry[];
  /** Names of keys, by key id. */
  readonly keys: ReadonlyMap<string, string>;
}) {
  const [hidden, setHidden] = useState<readonly string[]>([]);
  const groups = GROUPS.map((group) => ({
    ...group,
    found: entries.filter(({ kind }) => group.kinds.includes(kind)).length,
  })).filter(({ found }) => found > 0);
  const shown = inSequence(entries).filter(
    ({ kind }) => !groups.some(({ title, kinds }) => hidden.includes(title) && kinds.includes(kind)),
  );
  return (
    <>
      <h2>What happened</h2>
      <fieldset class="chips">
        <legend class="hidden">Shown entries</legend>
        {groups.map(({ title, found }) => (
          <label key={title}>
            <input
              type="checkbox"
              checked={!hidden.includes(title)}
              onChange={() =>
                setHidden(hidden.includes(title) ? hidden.filter((each) => each !== title) : [...hidden, title])
              }
            />{' '}
            {title} <small>{count(found)}</small>
          </label>
        ))}
      </fieldset>
      <ol class="story">
        {shown.map((entry) => (
          <li key={`${entry.at} ${entry.kind} ${entry.sequence}`} class={`is-${entry.kind}`}>
            <span class="when">
              <Time at={entry.at} />
              <Copy text={utcTime(Date.parse(entry.at) / 1000)} />
            </span>
            <span>
              <EntryText entry={entry} keys={keys} />
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}

function EntryText({ entry, keys }: { readonly entry: Entry; readonly keys: ReadonlyMap<string, string> }) {
  switch (entry.kind) {
    case 'transition':
      return (
        <>
          {entry.sequence}. {entry.type} <small>by {cause(entry.caused_by, keys)}</small>
          {entry.requested_by !== undefined && <small>, requested by {entry.requested_by}</small>}
          {entry['override'] === true && <b> without the processor’s books</b>}
          {entry.subject !== null && entry.subject.reason !== null && <q>{entry.subject.reason}</q>}
          {entry.operator_reason !== undefined && <q>{entry.operator_reason}</q>}
        </>
      );
    case 'claim':
      return (
        <>
          claimed by a request <Id of={entry.operation} to={`#/inspector/${entry.operation}`} />
        </>
      );
    case 'takeover':
      return <>taken over: {entry.was_released ? 'the owner had sent nothing' : 'the lease of the owner had ended'}</>;
    case 'call':
      return (
        <>
          processor: {entry.call === 'send' ? 'request sent' : 'looked up'}, result{' '}
          <b>{callResult(entry.call, entry.result)}</b> after {count(entry.duration_ms)} ms
        </>
      );
    case 'answer':
      return <>response {entry.http_status} stored for the request</>;
    case 'open':
      return entry.was_released ? (
        <>claim released, nothing sent</>
      ) : (
        <>
          not completed; lease until <Time at={entry.lease_until} />
        </>
      );
    case 'callback':
      return (
        <>
          callback of the processor accepted <Id of={entry.event_id} />
        </>
      );
    case 'event':
      return <>event {entry.type} published</>;
    case 'delivery':
      return (
        <>
          webhook to {entry.endpoint}: {entry.http_status ?? entry.error}
        </>
      );
    case 'alarm':
      return <>alarm {words(entry.alarm)}</>;
    case 'act':
      return (
        <>
          {words(entry.action)} by {cause(entry.caused_by)}
        </>
      );
  }
}
