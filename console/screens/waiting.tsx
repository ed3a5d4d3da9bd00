import { useState } from 'preact/hooks';
import { Act } from '../act.tsx';
import type { Schemas } from '../api.ts';
import { List, Loaded, Table, useRead } from '../parts.tsx';
import { age, queueTitle } from '../show.ts';

type Queues = Schemas['QueueList'];
type QueueRow = Queues['data'][number];

/** Shows all queues, with the number and age of their entries. */
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
              { title: 'Queue', of: ({ id }) => <a href={`#/waiting/${id}`}>{queueTitle(id)}</a> },
              { title: 'What waits', of: ({ description }) => description },
              {
                title: 'Waiting',
                isNumber: true,
                of: ({ waiting, more_waiting: more }) => `${waiting}${more ? '+' : ''}`,
              },
              { title: 'Oldest', isNumber: true, of: ({ oldest_age: oldest }) => age(oldest) },
              { title: 'Emptied by', of: ({ job }) => (job === null ? '–' : <a href={`#/jobs/${job}`}>{job}</a>) },
            ]}
          />
        )}
      </Loaded>
    </>
  );
}

type Entry = Schemas['QueueEntryList']['data'][number];

export function Queue({ id }: { readonly id: string }) {
  const [redriven, setRedriven] = useState(0);
  return (
    <>
      <h1>Queue: {queueTitle(id)}</h1>
      <Redrive key={`act-${redriven}`} id={id} done={() => setRedriven(redriven + 1)} />
      {redriven > 0 && (
        <p role="status">
          The messages were moved and are processed again. Messages that are here now have failed again, or arrived
          later.
        </p>
      )}
      <List<Entry>
        key={`list-${redriven}`}
        label={`Entries of ${id}`}
        path={`/v1/admin/queues/${encodeURIComponent(id)}`}
        none="Nothing waits here."
        columns={[
          { title: 'About', of: ({ about }) => <About id={about} /> },
          { title: 'Part', of: ({ part }) => <code>{part ?? '–'}</code> },
          { title: 'Age', isNumber: true, of: ({ age: seconds }) => age(seconds) },
          { title: 'Needs a person', of: ({ needs_operator: needs }) => (needs ? 'yes' : 'no') },
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
        return (
          <div class="acts">
            <Act
              name="Redrive"
              does={`Passes the waiting messages (about ${waiting}) to ${to ?? ''}, each once. They are processed again, and each takes effect only once.`}
              role="operator"
              because={because ?? (waiting === 0 ? 'Nothing waits here.' : undefined)}
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

export function About({ id }: { readonly id: string | null }) {
  if (id === null) return <>–</>;
  return id.startsWith('pay_') ? <a href={`#/payments/${id}`}>{id}</a> : <code>{id}</code>;
}
