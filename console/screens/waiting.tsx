import { useState } from 'preact/hooks';
import { Act } from '../act.tsx';
import type { Schemas } from '../api.ts';
import { About, Id, Loaded } from '../parts.tsx';
import { useRead } from '../reading.ts';
import { age, count, queueTitle } from '../show.ts';
import { List, Table } from '../table.tsx';

type Queues = Schemas['QueueList'];
type QueueRow = Queues['data'][number];

/** Shows all queues, each with the number of its entries and the age of its oldest entry. */
export function Waiting() {
  const read = useRead<Queues>('/v1/admin/queues');
  return (
    <>
      <h1>Waiting for work</h1>
      <p>
        Queues of unfinished work. If a job empties a queue, an operator is only needed when its oldest entry is old.
      </p>
      <Loaded of={read}>
        {({ data }) => (
          <Table<QueueRow>
            label="Queues"
            rows={data}
            columns={[
              {
                title: 'Queue',
                of: ({ id }) => <a href={`#/waiting/${id}`}>{queueTitle(id)}</a>,
                by: ({ id }) => queueTitle(id),
              },
              { title: 'Contents', of: ({ description }) => description },
              {
                title: 'Waiting',
                isNumber: true,
                of: waitingText,
                by: ({ waiting }) => waiting,
              },
              {
                title: 'Oldest',
                isNumber: true,
                of: ({ oldest_age: oldest }) => age(oldest),
                by: ({ oldest_age: oldest }) => oldest,
              },
              { title: 'Emptied by', of: ({ job }) => (job === null ? '–' : <a href={`#/jobs/${job}`}>{job}</a>) },
            ]}
          />
        )}
      </Loaded>
    </>
  );
}

/** Returns the number of entries of a queue, as text. */
export function waitingText({ waiting, more_waiting: more }: QueueRow): string {
  return waiting === null ? 'Cannot be read now' : `${count(waiting)}${more ? '+' : ''}`;
}

type Entry = Schemas['QueueEntryList']['data'][number];

export function Queue({ id }: { readonly id: string }) {
  const [isRedriven, setRedriven] = useState(false);
  return (
    <>
      <h1>Queue: {queueTitle(id)}</h1>
      <Redrive id={id} done={() => setRedriven(true)} />
      {isRedriven && (
        <p role="status">
          The messages were moved and are processed again. Messages that are here now have failed again, or arrived
          later.
        </p>
      )}
      <List<Entry>
        label={`Entries of ${id}`}
        path={`/v1/admin/queues/${encodeURIComponent(id)}`}
        none="The queue is empty."
        hint={<a href="#/waiting">See all queues</a>}
        columns={[
          { title: 'About', of: ({ about }) => <About id={about} /> },
          { title: 'Part', of: ({ part }) => <Id of={part} /> },
          { title: 'Age', isNumber: true, of: ({ age: seconds }) => age(seconds), by: ({ age: seconds }) => seconds },
          {
            title: 'Needs a person',
            of: ({ needs_operator: needs }) => (needs ? 'yes' : 'no'),
            by: ({ needs_operator: needs }) => Number(needs),
          },
          { title: 'Reason', of: ({ reason }) => reason ?? '–' },
        ]}
      />
    </>
  );
}

/**
 * Offers a redrive of messages that could not be handled. For other queues, the button is disabled, and shows the
 * reason.
 */
function Redrive({ id, done }: { readonly id: string; readonly done: () => void }) {
  const read = useRead<Queues>('/v1/admin/queues');
  return (
    <Loaded of={read}>
      {({ data }) => {
        const queue = data.find((each) => each.id === id);
        if (queue === undefined) return <></>;
        const { redrive_to: to, no_redrive_because: because, waiting } = queue;
        const about = waiting === null ? '' : ` (about ${waiting})`;
        return (
          <div class="acts">
            <Act
              name="Redrive"
              does={`Passes the waiting messages${about} to ${to ?? ''}, each once. They are processed again, and each takes effect only once.`}
              role="operator"
              because={because ?? (waiting === 0 ? 'The queue is empty.' : undefined)}
              path={`/v1/admin/queues/${encodeURIComponent(id)}/redrive`}
              fields={[]}
              done={done}
            />
          </div>
        );
      }}
    </Loaded>
  );
}
