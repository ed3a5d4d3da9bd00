import { daysShown, scaleOf } from './scale.ts';
import { shortDay } from './show.ts';
import { Table } from './table.tsx';

export interface Series {
  readonly name: string;
  /** The CSS class of the bars, which determines their color. */
  readonly kind: 'good' | 'bad' | 'soft' | 'open';
  readonly values: readonly number[];
}

const HIGH = 100;
const WIDE = 10;

interface Plotted {
  readonly title: string;
  readonly days: readonly string[];
  readonly series: readonly Series[];
  readonly shown: (value: number) => string;
  /** Set to draw the bars side by side: the values overlap, so their sum is meaningless. @default stacked bars */
  readonly isSideBySide?: true;
}

export function Plot({ title, days, series, shown, ...form }: Plotted) {
  const sums = days.map((_day, index) => series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0));
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
      <Bars title={title} days={days} series={series} shown={shown} sums={sums} totals={totals} {...form} />
      <details>
        <summary>As a table</summary>
        <Table
          label={title}
          rows={days.map((day, index) => ({ day, index })).filter(({ index }) => sums[index] !== 0)}
          columns={[
            { title: 'Day (UTC)', of: ({ day }) => day, by: ({ day }) => day },
            ...series.map(({ name, values }) => ({
              title: name,
              isNumber: true as const,
              of: ({ index }: { readonly index: number }) => shown(values[index] ?? 0),
              by: ({ index }: { readonly index: number }) => values[index],
            })),
          ]}
        />
      </details>
    </figure>
  );
}

function Bars({
  title,
  days,
  series,
  shown,
  sums,
  totals,
  isSideBySide,
}: Plotted & { readonly sums: readonly number[]; readonly totals: readonly string[] }) {
  const largest = Math.max(0, ...(isSideBySide ? series.flatMap(({ values }) => values) : sums));
  const lines = scaleOf(largest);
  const top = lines.at(-1) ?? 1;
  const wide = days.length * WIDE;
  return (
    <div class="plot">
      <ol class="values" aria-hidden="true">
        {lines.toReversed().map((value) => (
          <li key={value}>{shown(value)}</li>
        ))}
      </ol>
      <svg
        viewBox={`0 0 ${wide} ${HIGH}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title} from ${days[0]} to ${days.at(-1)}: ${totals.join(', ')}. Largest day: ${shown(largest)}.`}
      >
        {lines.map((value) => {
          const y = HIGH - (value * HIGH) / top;
          return <line key={value} class="line" x1="0" x2={wide} y1={y} y2={y} />;
        })}
        {days.map((day, index) => (
          <Bar
            key={day}
            day={day}
            index={index}
            series={series}
            scale={HIGH / top}
            shown={shown}
            isSideBySide={isSideBySide === true}
          />
        ))}
      </svg>
      <ol class="days" aria-hidden="true">
        {daysShown(days).map((day) => (
          <li key={day}>{shortDay(day)}</li>
        ))}
      </ol>
    </div>
  );
}

function Bar({
  day,
  index,
  series,
  scale,
  shown,
  isSideBySide,
}: {
  readonly day: string;
  readonly index: number;
  readonly series: readonly Series[];
  readonly scale: number;
  readonly shown: (value: number) => string;
  readonly isSideBySide: boolean;
}) {
  const wide = (WIDE - 2) / (isSideBySide ? series.length : 1);
  let from = HIGH;
  return (
    <g>
      {/* The whole height shows the values when a pointer is over it. */}
      <rect class="column" x={index * WIDE} y="0" width={WIDE} height={HIGH} />
      <title>{[day, ...series.map(({ name, values }) => `${name} ${shown(values[index] ?? 0)}`)].join('\n')}</title>
      {series.map(({ name, kind, values }, place) => {
        const height = (values[index] ?? 0) * scale;
        from = (isSideBySide ? HIGH : from) - height;
        const left = index * WIDE + 1 + (isSideBySide ? place * wide : 0);
        return <rect key={name} class={kind} x={left} y={from} width={wide} height={height} />;
      })}
    </g>
  );
}
