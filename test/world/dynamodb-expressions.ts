/**
 * Parses and evaluates the DynamoDB expressions that production code uses (Amazon DynamoDB developer guide, "Condition
 * and filter expressions, operators, and functions", "Update expressions"). Parses each expression text only once, and
 * throws for all other syntax.
 */
import { add, compareValues, equalValues, type Item, remove, type Value } from './dynamodb-values.ts';

export interface Placeholders {
  readonly names: Readonly<Record<string, string>>;
  readonly values: Readonly<Record<string, Value>>;
}

type Comparator = '=' | '<>' | '<' | '<=' | '>' | '>=';
type Operand = { readonly kind: 'name' | 'value'; readonly text: string };

export type Condition =
  | { readonly kind: 'and' | 'or'; readonly left: Condition; readonly right: Condition }
  | { readonly kind: 'not'; readonly of: Condition }
  | { readonly kind: 'compare'; readonly is: Comparator; readonly left: Operand; readonly right: Operand }
  | { readonly kind: 'between'; readonly of: Operand; readonly from: Operand; readonly to: Operand }
  | { readonly kind: 'begins_with'; readonly of: Operand; readonly prefix: Operand }
  | { readonly kind: 'attribute_exists' | 'attribute_not_exists'; readonly of: Operand };

export type Action =
  | {
      readonly kind: 'SET' | 'ADD' | 'DELETE';
      readonly name: string;
      readonly to: Operand;
      /** Operand that `SET` adds to `to`. */
      readonly plus?: Operand;
    }
  | { readonly kind: 'REMOVE'; readonly name: string };

export interface Parsed<Tree> {
  readonly tree: Tree;
  readonly uses: ReadonlySet<string>;
}

/** Error for an expression that DynamoDB, or this subset of DynamoDB, does not accept. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
}

const TOKEN = /\s*(<=|>=|<>|[=<>(),+]|[#:]?[A-Za-z_0-9]+)/y;
const KEYWORDS = new Set(['AND', 'OR', 'NOT', 'BETWEEN', 'IN', 'SET', 'ADD', 'REMOVE', 'DELETE']);
const COMPARATORS: ReadonlySet<string> = new Set(['=', '<>', '<', '<=', '>', '>=']);

/**
 * Words that expressions can use as attribute names only through a placeholder (Amazon DynamoDB developer guide,
 * "Reserved words in DynamoDB").
 */
const RESERVED = new Set(
  `ABORT ABSOLUTE ACTION ADD AFTER AGENT AGGREGATE ALL ALLOCATE ALTER ANALYZE AND ANY ARCHIVE ARE ARRAY AS ASC ASCII
  ASENSITIVE ASSERTION ASYMMETRIC AT ATOMIC ATTACH ATTRIBUTE AUTH AUTHORIZATION AUTHORIZE AUTO AVG BACK BACKUP BASE BATCH
  BEFORE BEGIN BETWEEN BIGINT BINARY BIT BLOB BLOCK BOOLEAN BOTH BREADTH BUCKET BULK BY BYTE CALL CALLED CALLING CAPACITY
  CASCADE CASCADED CASE CAST CATALOG CHAR CHARACTER CHECK CLASS CLOB CLOSE CLUSTER CLUSTERED CLUSTERING CLUSTERS COALESCE
  COLLATE COLLATION COLLECTION COLUMN COLUMNS COMBINE COMMENT COMMIT COMPACT COMPILE COMPRESS CONDITION CONFLICT CONNECT
  CONNECTION CONSISTENCY CONSISTENT CONSTRAINT CONSTRAINTS CONSTRUCTOR CONSUMED CONTINUE CONVERT COPY CORRESPONDING COUNT
  COUNTER CREATE CROSS CUBE CURRENT CURSOR CYCLE DATA DATABASE DATE DATETIME DAY DEALLOCATE DEC DECIMAL DECLARE DEFAULT
  DEFERRABLE DEFERRED DEFINE DEFINED DEFINITION DELETE DELIMITED DEPTH DEREF DESC DESCRIBE DESCRIPTOR DETACH DETERMINISTIC
  DIAGNOSTICS DIRECTORIES DISABLE DISCONNECT DISTINCT DISTRIBUTE DO DOMAIN DOUBLE DROP DUMP DURATION DYNAMIC EACH ELEMENT
  ELSE ELSEIF EMPTY ENABLE END EQUAL EQUALS ERROR ESCAPE ESCAPED EVAL EVALUATE EXCEEDED EXCEPT EXCEPTION EXCEPTIONS
  EXCLUSIVE EXEC EXECUTE EXISTS EXIT EXPLAIN EXPLODE EXPORT EXPRESSION EXTENDED EXTERNAL EXTRACT FAIL FALSE FAMILY FETCH
  FIELDS FILE FILTER FILTERING FINAL FINISH FIRST FIXED FLATTERN FLOAT FOR FORCE FOREIGN FORMAT FORWARD FOUND FREE FROM
  FULL FUNCTION FUNCTIONS GENERAL GENERATE GET GLOB GLOBAL GO GOTO GRANT GREATER GROUP GROUPING HANDLER HASH HAVE HAVING
  HEAP HIDDEN HOLD HOUR IDENTIFIED IDENTITY IF IGNORE IMMEDIATE IMPORT IN INCLUDING INCLUSIVE INCREMENT INCREMENTAL INDEX
  INDEXED INDEXES INDICATOR INFINITE INITIALLY INLINE INNER INNTER INOUT INPUT INSENSITIVE INSERT INSTEAD INT INTEGER
  INTERSECT INTERVAL INTO INVALIDATE IS ISOLATION ITEM ITEMS ITERATE JOIN KEY KEYS LAG LANGUAGE LARGE LAST LATERAL LEAD
  LEADING LEAVE LEFT LENGTH LESS LEVEL LIKE LIMIT LIMITED LINES LIST LOAD LOCAL LOCALTIME LOCALTIMESTAMP LOCATION LOCATOR
  LOCK LOCKS LOG LOGED LONG LOOP LOWER MAP MATCH MATERIALIZED MAX MAXLEN MEMBER MERGE METHOD METRICS MIN MINUS MINUTE
  MISSING MOD MODE MODIFIES MODIFY MODULE MONTH MULTI MULTISET NAME NAMES NATIONAL NATURAL NCHAR NCLOB NEW NEXT NO NONE
  NOT NULL NULLIF NUMBER NUMERIC OBJECT OF OFFLINE OFFSET OLD ON ONLINE ONLY OPAQUE OPEN OPERATOR OPTION OR ORDER
  ORDINALITY OTHER OTHERS OUT OUTER OUTPUT OVER OVERLAPS OVERRIDE OWNER PAD PARALLEL PARAMETER PARAMETERS PARTIAL
  PARTITION PARTITIONED PARTITIONS PATH PERCENT PERCENTILE PERMISSION PERMISSIONS PIPE PIPELINED PLAN POOL POSITION
  PRECISION PREPARE PRESERVE PRIMARY PRIOR PRIVATE PRIVILEGES PROCEDURE PROCESSED PROJECT PROJECTION PROPERTY PROVISIONING
  PUBLISH PUT QUERY QUIT QUORUM RAISE RANDOM RANGE RANK RAW READ READS REAL REBUILD RECORD RECURSIVE REDUCE REF REFERENCE
  REFERENCES REFERENCING REGEXP REGION REINDEX RELATIVE RELEASE REMAINDER RENAME REPEAT REPLACE REQUEST RESET RESIGNAL
  RESOURCE RESPONSE RESTORE RESTRICT RESULT RETURN RETURNING RETURNS REVERSE REVOKE RIGHT ROLE ROLES ROLLBACK ROLLUP
  ROUTINE ROW ROWS RULE RULES SAMPLE SATISFIES SAVE SAVEPOINT SCAN SCHEMA SCOPE SCROLL SEARCH SECOND SECTION SEGMENT
  SEGMENTS SELECT SELF SEMI SENSITIVE SEPARATE SEQUENCE SERIALIZABLE SESSION SET SETS SHARD SHARE SHARED SHORT SHOW SIGNAL
  SIMILAR SIZE SKEWED SMALLINT SNAPSHOT SOME SOURCE SPACE SPACES SPARSE SPECIFIC SPECIFICTYPE SPLIT SQL SQLCODE SQLERROR
  SQLEXCEPTION SQLSTATE SQLWARNING START STATE STATIC STATUS STORAGE STORE STORED STREAM STRING STRUCT STYLE SUB
  SUBMULTISET SUBPARTITION SUBSTRING SUBTYPE SUM SUPER SYMMETRIC SYNONYM SYSTEM TABLE TABLESAMPLE TEMP TEMPORARY
  TERMINATED TEXT THAN THEN THROUGHPUT TIME TIMESTAMP TIMEZONE TINYINT TO TOKEN TOTAL TOUCH TRAILING TRANSACTION TRANSFORM
  TRANSLATE TRANSLATION TREAT TRIGGER TRIM TRUE TRUNCATE TTL TUPLE TYPE UNDER UNDO UNION UNIQUE UNIT UNKNOWN UNLOGGED
  UNNEST UNPROCESSED UNSIGNED UNTIL UPDATE UPPER URL USAGE USE USER USERS USING UUID VACUUM VALUE VALUED VALUES VARCHAR
  VARIABLE VARIANCE VARINT VARYING VIEW VIEWS VIRTUAL VOID WAIT WHEN WHENEVER WHERE WHILE WINDOW WITH WITHIN WITHOUT WORK
  WRAPPED WRITE YEAR ZONE`.split(/\s+/),
);

class Tokens {
  readonly uses = new Set<string>();
  readonly #text: string;
  readonly #all: string[] = [];
  #next = 0;

  constructor(text: string) {
    this.#text = text;
    const source = text.trimEnd();
    let end = 0;
    while (end < source.length) {
      TOKEN.lastIndex = end;
      const found = TOKEN.exec(source);
      if (found?.[1] === undefined) throw this.error(`cannot read "${source.slice(end)}"`);
      this.#all.push(found[1]);
      end = TOKEN.lastIndex;
    }
  }

  peek(ahead = 0): string | undefined {
    return this.#all[this.#next + ahead];
  }

  take(): string {
    const token = this.#all[this.#next];
    if (token === undefined) throw this.error('unexpected end of the expression');
    this.#next += 1;
    return token;
  }

  takeIf(...wanted: readonly string[]): boolean {
    const token = this.peek();
    if (token === undefined || !wanted.includes(token)) return false;
    this.#next += 1;
    return true;
  }

  expect(wanted: string): void {
    const token = this.take();
    if (token !== wanted) throw this.error(`expected "${wanted}" but found "${token}"`);
  }

  operand(): Operand {
    const text = this.take();
    if (text.startsWith(':') || text.startsWith('#')) this.uses.add(text);
    if (text.startsWith(':')) return { kind: 'value', text };
    if (!/^(?:#\w+|[A-Za-z_]\w*)$/.test(text) || KEYWORDS.has(text)) throw this.error(`"${text}" is not an attribute`);
    if (RESERVED.has(text.toUpperCase())) throw this.error(`the attribute name is a reserved keyword: ${text}`);
    return { kind: 'name', text };
  }

  name(): string {
    const { kind, text } = this.operand();
    if (kind !== 'name') throw this.error(`"${text}" is not an attribute`);
    return text;
  }

  end(): void {
    if (this.peek() !== undefined) throw this.error(`unexpected "${String(this.peek())}"`);
  }

  error(why: string): ExpressionError {
    return new ExpressionError(`Invalid expression "${this.#text}": ${why}`);
  }
}

function parser<Tree>(parse: (tokens: Tokens) => Tree): (text: string) => Parsed<Tree> {
  const known = new Map<string, Parsed<Tree>>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const tokens = new Tokens(text);
    const tree = parse(tokens);
    tokens.end();
    const parsed = { tree, uses: tokens.uses };
    known.set(text, parsed);
    return parsed;
  };
}

export const parseCondition = parser(disjunction);
export const parseProjection = parser((tokens) => separated(tokens, () => tokens.name()));
export const parseUpdate = parser(updateActions);

function disjunction(tokens: Tokens): Condition {
  let left = conjunction(tokens);
  while (tokens.takeIf('OR')) left = { kind: 'or', left, right: conjunction(tokens) };
  return left;
}

function conjunction(tokens: Tokens): Condition {
  let left = negation(tokens);
  while (tokens.takeIf('AND')) left = { kind: 'and', left, right: negation(tokens) };
  return left;
}

function negation(tokens: Tokens): Condition {
  return tokens.takeIf('NOT') ? { kind: 'not', of: negation(tokens) } : test(tokens);
}

function test(tokens: Tokens): Condition {
  if (tokens.takeIf('(')) {
    const inner = disjunction(tokens);
    tokens.expect(')');
    return inner;
  }
  if (tokens.peek(1) === '(') return called(tokens, tokens.take());
  const left = tokens.operand();
  if (tokens.takeIf('BETWEEN')) {
    const from = tokens.operand();
    tokens.expect('AND');
    return { kind: 'between', of: left, from, to: tokens.operand() };
  }
  const is = tokens.take();
  if (!COMPARATORS.has(is)) throw tokens.error(`"${is}" is not a comparator`);
  return { kind: 'compare', is: is as Comparator, left, right: tokens.operand() };
}

function called(tokens: Tokens, name: string): Condition {
  tokens.expect('(');
  const of = tokens.operand();
  if (name === 'begins_with') {
    tokens.expect(',');
    const prefix = tokens.operand();
    tokens.expect(')');
    return { kind: name, of, prefix };
  }
  tokens.expect(')');
  if (name !== 'attribute_exists' && name !== 'attribute_not_exists') {
    throw tokens.error(`the function ${name} is not supported`);
  }
  return { kind: name, of };
}

function updateActions(tokens: Tokens): readonly Action[] {
  const actions: Action[] = [];
  const clauses = new Set<string>();
  while (tokens.peek() !== undefined) {
    const clause = tokens.take();
    if (clause !== 'SET' && clause !== 'ADD' && clause !== 'REMOVE' && clause !== 'DELETE') {
      throw tokens.error(`"${clause}" is not a clause of an update`);
    }
    if (clauses.has(clause)) throw tokens.error(`the clause ${clause} occurs more than once`);
    clauses.add(clause);
    actions.push(...separated(tokens, () => action(tokens, clause)));
  }
  if (actions.length === 0) throw tokens.error('it is empty');
  return actions;
}

function action(tokens: Tokens, kind: Action['kind']): Action {
  const name = tokens.name();
  if (kind === 'REMOVE') return { kind, name };
  if (kind === 'SET') tokens.expect('=');
  const to = tokens.operand();
  if (kind !== 'SET' && to.kind !== 'value') throw tokens.error(`${kind} requires a value`);
  if (kind === 'SET' && tokens.takeIf('+')) return { kind, name, to, plus: tokens.operand() };
  return { kind, name, to };
}

function separated<Part>(tokens: Tokens, part: () => Part): readonly Part[] {
  const parts = [part()];
  while (tokens.takeIf(',')) parts.push(part());
  return parts;
}

// ------------------------------------------------------------------------------------------------------------- evaluation

export function nameOf(text: string, { names }: Placeholders): string {
  if (!text.startsWith('#')) return text;
  const name = names[text];
  if (name === undefined) throw new ExpressionError(`Invalid expression: the name ${text} is not defined`);
  return name;
}

export function valueOf(
  { kind, text }: Operand,
  item: Item | undefined,
  placeholders: Placeholders,
): Value | undefined {
  if (kind === 'name') return item?.[nameOf(text, placeholders)];
  const value = placeholders.values[text];
  if (value === undefined) throw new ExpressionError(`Invalid expression: the value ${text} is not defined`);
  return value;
}

export function holds(condition: Condition, item: Item | undefined, placeholders: Placeholders): boolean {
  switch (condition.kind) {
    case 'and':
      return holds(condition.left, item, placeholders) && holds(condition.right, item, placeholders);
    case 'or':
      return holds(condition.left, item, placeholders) || holds(condition.right, item, placeholders);
    case 'not':
      return !holds(condition.of, item, placeholders);
    case 'attribute_exists':
      return valueOf(condition.of, item, placeholders) !== undefined;
    case 'attribute_not_exists':
      return valueOf(condition.of, item, placeholders) === undefined;
    case 'begins_with': {
      const text = valueOf(condition.of, item, placeholders);
      const prefix = valueOf(condition.prefix, item, placeholders);
      if (typeof prefix !== 'string') throw new ExpressionError('Incorrect operand type for the function begins_with');
      return typeof text === 'string' && text.startsWith(prefix);
    }
    case 'between': {
      const value = valueOf(condition.of, item, placeholders);
      const from = valueOf(condition.from, item, placeholders);
      const to = valueOf(condition.to, item, placeholders);
      return compared('>=', value, from) && compared('<=', value, to);
    }
    case 'compare':
      return compared(
        condition.is,
        valueOf(condition.left, item, placeholders),
        valueOf(condition.right, item, placeholders),
      );
  }
}

/** A missing attribute differs from every value, but is neither less nor greater. */
export function compared(is: Comparator, left: Value | undefined, right: Value | undefined): boolean {
  if (left === undefined || right === undefined) return is === '<>';
  if (is === '=') return equalValues(left, right);
  if (is === '<>') return !equalValues(left, right);
  const order = compareValues(left, right);
  if (order === undefined) return false;
  switch (is) {
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    case '>=':
      return order >= 0;
  }
}

export function updated(
  actions: readonly Action[],
  item: Item,
  placeholders: Placeholders,
): { readonly item: Item; readonly touched: readonly string[] } {
  const after: Record<string, Value> = { ...item };
  const touched: string[] = [];
  for (const each of actions) {
    const name = nameOf(each.name, placeholders);
    if (touched.includes(name)) {
      throw new ExpressionError(`Invalid UpdateExpression: Two document paths overlap with each other; ${name}`);
    }
    touched.push(name);
    const result = each.kind === 'REMOVE' ? undefined : resultOf(each, item, name, placeholders);
    if (result === undefined) delete after[name];
    else after[name] = result;
  }
  return { item: after, touched };
}

/** Returns undefined if the update empties a set. */
function resultOf(
  { kind, to, plus }: Extract<Action, { to: Operand }>,
  item: Item,
  name: string,
  placeholders: Placeholders,
): Value | undefined {
  const value = valueOf(to, item, placeholders);
  if (value === undefined) {
    throw new ExpressionError('The provided expression refers to an attribute that does not exist in the item');
  }
  try {
    if (kind === 'SET') return plus === undefined ? value : add(value, valueOf(plus, item, placeholders) ?? '');
    return kind === 'ADD' ? add(item[name], value) : remove(item[name], value);
  } catch (cause) {
    if (cause instanceof TypeError) throw new ExpressionError(cause.message, { cause });
    throw cause;
  }
}
