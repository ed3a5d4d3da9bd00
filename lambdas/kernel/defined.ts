/** The same fields, without those that are undefined. */
type Defined<Fields> = { readonly [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

/**
 * The fields that have a value. For optional properties, which must be absent and not undefined (`exactOptionalPropertyTypes`):
 *
 *     { ...run, ...defined({ cursor }) }
 */
export function defined<const Fields extends object>(fields: Fields): Defined<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<Fields>;
}
