/** Set by `npm run prove`: enumerations are run whole. */
const PROVING = process.env['PAYONCE_PROVE'] === '1';

/** How far an enumeration goes: whole in `npm run prove`, and a slice of it, by the same code, in `npm test`. */
export function whole<Extent>(all: Extent, { slice }: { readonly slice: Extent }): Extent {
  return PROVING ? all : slice;
}
