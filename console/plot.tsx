import { Table } from './parts.tsx';

export interface Series {
  readonly name: string;
  /** The CSS class of the bars, which determines their color. */
  readonly kind: 'good' | 'bad' | 'soft' | 'open';
  /** One value for each day, in the order of the days. */
  readonly values: readonly number[];
}

const HIGH = 100;
const WIDE = 10;

/** Shows stacked bars, one for each day, and the same numbers as a table. */
export function Plot({
  title,
  days,
  series,
  shown,
}: {
  readonly title: string;
  readonly days: readonly string[];
  readonly series: readonly Series[];
  readonly shown: (value: number) => string;
}) {
  const sums = days.map((_day, index) => series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0));
  const largest = Math.max(1, ...sums);
  const totals = series.map(({ name, values }) => `${name} ${shown(values.reduce((sum, each) => sum + each, 0))}`);
  return (
    <figure>
      <figcaption>
        {title}
        <span class="legend">
          {series.map(({ name, kind }, index) => (
            <span key={name}>
              <svg viewBox="0 0 10 10" aria-hidden="true">
                <rect class={kind} width="10" height="10" />
              </svg>{' '}
              {totals[index]}
            </span>
          ))}
        </span>
      </figcaption>
      <svg
        class="plot"
        viewBox={`0 0 ${days.length * WIDE} ${HIGH}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title} from ${days[0]} to ${days.at(-1)}: ${totals.join(', ')}. Largest day: ${shown(largest)}.`}
      >
        {days.map((day, index) => (
          <Bar key={day} day={day} index={index} series={series} scale={HIGH / largest} shown={shown} />
        ))}
      </svg>
      <details>
        <summary>As a table</summary>
        <Table
          label={title}
          rows={days.map((day, index) => ({ day, index })).filter(({ index }) => sums[index] !== 0)}
          columns={[
            { title: 'Day (UTC)', of: ({ day }) => day },
            ...series.map(({ name, values }) => ({
              title: name,
              isNumber: true as const,
              of: ({ index }: { readonly index: number }) => shown(values[index] ?? 0),
            })),
          ]}
        />
      </details>
    </figure>
  );
}

function Bar({
  day,
  index,
  series,
  scale,
  shown,
}: {
  readonly day: string;
  readonly index: number;
  readonly series: readonly Series[];
  readonly scale: number;
  readonly shown: (value: number) => string;
}) {
  let from = HIGH;
  return (
    <g>
      <title>{[day, ...series.map(({ name, values }) => `${name} ${shown(values[index] ?? 0)}`)].join('\n')}</title>
      {series.map(({ name, kind, values }) => {
        const height = (values[index] ?? 0) * scale;
        from -= height;
        return <rect key={name} class={kind} x={index * WIDE + 1} y={from} width={WIDE - 2} height={height} />;
      })}
    </g>
  );
}
