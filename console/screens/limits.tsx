import { Act } from '../act.tsx';
import type { Schemas } from '../api.ts';
import { Loaded } from '../parts.tsx';
import { useRead } from '../reading.ts';
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

export function Limits({ tenant }: { readonly tenant: string }) {
  const read = useRead<Schemas['LimitList']>(`/v1/admin/limits?tenant=${encodeURIComponent(tenant)}`);
  const common = { role: 'owner', path: '/v1/admin/limits' } as const;
  return (
    <>
      <h2>Request limits</h2>
      <p class="acts">
        <Act
          {...common}
          name="Set limit"
          does={`Gives ${tenant} its own limit. It takes effect within a second if requests are being refused, otherwise within a minute.`}
          fixed={{ tenant }}
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
              { title: 'Kind of request', of: ({ kind }) => kind, by: ({ kind }) => kind },
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
