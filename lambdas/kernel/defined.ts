type Defined<Fields> = { readonly [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

/**
 * Returns only the fields that have a value. Use it for optional properties, which must be absent rather than undefined
 * (`exactOptionalPropertyTypes`):
 *
 *     { ...run, ...defined({ cursor }) }
 */
export function defined<const Fields extends object>(fields: Fields): Defined<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<Fields>;
}
