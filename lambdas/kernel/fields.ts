/* Builds objects field by field. If a field is added to the type only, the code does not compile. */

/** Requires each field of `T`. A field that is optional in `T` may be undefined. */
export type EveryField<T> = {
  readonly [Name in keyof T]-?: Partial<Pick<T, Name>> extends Pick<T, Name> ? T[Name] | undefined : T[Name];
};

export function everyField<T extends object>(fields: EveryField<T>): T {
  return defined(Object.entries(fields)) as T;
}

interface ShownField<T, From extends readonly (keyof T)[]> {
  readonly from: From;
  /** Undefined omits the field. */
  readonly show: (whole: T) => unknown;
}

export function shownField<T extends object>() {
  return <const From extends readonly (keyof T)[]>(
    from: From,
    show: (fields: Pick<T, From[number]>) => unknown,
  ): ShownField<T, From> => ({ from, show });
}

type Unshown<T, Fields extends Readonly<Record<string, ShownField<T, readonly (keyof T)[]>>>> = Exclude<
  keyof T,
  Fields[keyof Fields]['from'][number]
>;

/**
 * Defines how the API shows a `T`: the fields of the API object in the order in which they are rendered. Each field of
 * `T` must be in the `from` of at least one API field.
 */
export function apiObject<T extends object>() {
  return <Fields extends Readonly<Record<string, ShownField<T, readonly (keyof T)[]>>>>(
    fields: Fields & Readonly<Record<Unshown<T, Fields>, never>>,
  ) => ({
    names: Object.keys(fields) as readonly (keyof Fields & string)[],
    render: (whole: T): Record<string, unknown> =>
      defined(Object.entries<Fields[keyof Fields]>(fields).map(([name, { show }]) => [name, show(whole)])),
  });
}

function defined(entries: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}
