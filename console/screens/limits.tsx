import { Act } from '../act.tsx';
import type { Schemas } from '../api.ts';
import type { Values } from '../attempts.ts';
import { Loaded } from '../parts.tsx';
import { usePlace } from '../place.ts';
import { useRead } from '../reading.ts';
import { count, words } from '../show.ts';
import { Table } from '../table.tsx';

type Limit = Schemas['Limit'];

const OF = [
  { name: 'mode', label: 'Mode', choices: ['live', 'test'] },
  {
    name: 'kind',
    label: 'Kind of request',
    choices: ['payments', 'reads', 'processor_reads', 'admin'] satisfies Limit['kind'][],
  },
] as const;

/** Returns no values if the limit was not read yet. */
function numbersOf(limits: readonly Limit[], { mode, kind }: Values): Values {
  const limit = limits.find((each) => each.mode === mode && each.kind === kind);
  return limit === undefined ? {} : { rate: String(limit.rate), burst: String(limit.burst) };
}

export function Limits({ tenant }: { readonly tenant: string }) {
  const read = useRead<Schemas['LimitList']>(`/v1/admin/limits?tenant=${encodeURIComponent(tenant)}`);
  const place = usePlace();
  const common = { role: 'owner', path: '/v1/admin/limits' } as const;
  const shown = { mode: place.mode, kind: 'payments' };
  const limits = read.answer?.data ?? [];
  const saved = (answer: unknown) => {
    const { kind, rate, burst, is_own: own, ...limit } = answer as Limit;
    return `The limit of ${words(kind)} in ${limit.mode} mode is ${count(rate)} per second, ${count(burst)} at once${own ? '' : ', the limit of the deployment'}.`;
  };
  return (
    <>
      <h2>Request limits</h2>
      <p class="acts">
        <Act
          {...common}
          name="Set limit"
          does={`Gives ${tenant} its own limit. It takes effect within a second if requests are being refused, otherwise within a minute.`}
          fixed={{ tenant }}
          initial={{ ...shown, ...numbersOf(limits, shown) }}
          adapt={(changed, values) => ('mode' in changed || 'kind' in changed ? numbersOf(limits, values) : {})}
          says={saved}
          fields={[
            ...OF,
            { name: 'rate', label: 'Requests per second', isWhole: true },
            { name: 'burst', label: 'Burst (requests at once)', isWhole: true },
          ]}
        />
        <Act
          {...common}
          name="Reset limit"
          does={`Restores the limit of the deployment for ${tenant}.`}
          fixed={{ tenant, rate: null, burst: null }}
          initial={shown}
          says={saved}
          fields={OF}
        />
      </p>
      <Loaded of={read}>
        {({ data }) => (
          <Table
            label="Request limits"
            rows={data}
            columns={[
              { title: 'Mode', of: ({ mode }) => mode, by: ({ mode }) => mode },
              { title: 'Kind', of: ({ kind }) => kind, by: ({ kind }) => kind },
              { title: 'Per second', isNumber: true, of: ({ rate }) => rate },
              { title: 'At once', isNumber: true, of: ({ burst }) => burst },
              { title: 'Limit of', of: (row) => (row.is_own ? 'the tenant' : 'the deployment') },
            ]}
          />
        )}
      </Loaded>
    </>
  );
}
