/** Roles, keys and accesses of guests are given by the one judgement. Source: docs/decisions/0126-who-gives-a-role.md. */
import { finding, type Finding, isTest, type Source } from './source.ts'
import { readStatements } from './statements.ts'

const judgement = 'service/src/people/users/giving.ts'
const isService = (source: Source): boolean => !isTest(source) && source.path.startsWith('service/src/')
const withoutComments = (sql: string): string => sql.replace(/\/\*[\s\S]*?\*\//g, '')

/** Columns by which a person or a key gets or loses what it may do. An insert of a row gives it. */
const columnsOf: Readonly<Record<string, readonly string[]>> = {
  'users.members': ['role', 'removed_at'],
  'users.invitations': ['role', 'token_hash', 'redirect_url', 'given_by_id'],
  'users.guest_links': ['access', 'token_hash'],
  'users.single_sign_on': ['role_values', 'role_claim', 'issuer', 'email_domain', 'domain_proved_at'],
  'users.single_sign_on_changes': ['settings', 'proposed_by'],
  'access.service_accounts': ['permissions', 'allowed_addresses', 'expires_at', 'public_key_pem', 'api_secret_sealed'],
  'staff.accounts': ['role', 'removed_at'],
  'staff.invitations': ['role', 'token_hash'],
}
export const givingTables: readonly string[] = Object.keys(columnsOf)

type Write = { readonly source: Source; readonly at: number; readonly name: string; readonly table: string }

function writesIn(source: Source): readonly Write[] {
  return readStatements(source).flatMap(({ at, name, text }): readonly Write[] => {
    const statement = withoutComments(text)
    return Object.entries(columnsOf).flatMap(([table, columns]): readonly Write[] => {
      const named = `${table.replace('.', '\\.')}(?![\\w.])`
      const update = new RegExp(`\\bupdate\\s+(?:only\\s+)?${named}[^]*?\\bset\\b([^]*?)(?=\\bwhere\\b|$)`, 'i')
      const [, set = ''] = update.exec(statement) ?? []
      const sets = columns.some((column) => new RegExp(`(?<![.\\w])${column}\\s*=`, 'i').test(set))
      const isInsert = new RegExp(`\\binsert\\s+into\\s+${named}`, 'i').test(statement)
      // The provider of a team goes with its row; the other rows are never deleted.
      const isDelete =
        table === 'users.single_sign_on' && new RegExp(`\\bdelete\\s+from\\s+${named}`, 'i').test(statement)
      return isInsert || sets || isDelete ? [{ source, at, name, table }] : []
    })
  })
}

/** Reports whether the function of a statement takes the answer of the judgement. */
function takesPermitted({ source, at, name }: Write): boolean {
  const from = source.code.lastIndexOf(`function ${name}(`, at)
  return from >= 0 && /:\s*Permit\b/.test(source.code.slice(from, at))
}

/** Statements of the team take a `Permit`, which is made in one file. */
export function checkRoleWrites(sources: readonly Source[]): readonly Finding[] {
  const service = sources.filter(isService)
  return [
    ...service
      .flatMap(writesIn)
      .filter(({ table }) => table.startsWith('users.'))
      .filter((write) => !takesPermitted(write))
      .map(({ source, at, name, table }) =>
        finding(source, at, `${name} writes what ${table} gives without a Permit of ${judgement}`),
      ),
    ...service
      .filter(({ path, code }) => path !== judgement && /\bas\s+(?:unknown\s+as\s+)?Permit\b/.test(code))
      .map((source) => finding(source, 0, `makes a Permit: only ${judgement} does`)),
  ]
}

/** Verbs of other parts that give, take or change a key or an account of staff, and the files that may call them. */
const guarded: readonly {
  readonly call: RegExp
  readonly home: string
  readonly callers: Readonly<Record<string, string>>
}[] = [
  {
    call: /\b(?:access|support)\.(?:createServiceAccount|changeServiceAccount|rotateServiceAccount|expireServiceAccount|revoke)\(/g,
    home: 'service/src/access/',
    callers: {
      'service/src/people/users/service-accounts.ts': 'judged',
      'service/src/people/users/support-entrance.ts': 'staff end their own session',
      'service/src/operator/': 'the operator, by commands of admins',
      'service/src/app/seed.ts': 'the first key of a sandbox',
    },
  },
  {
    call: /\bstaff\.(?:invite|setRole|remove)\(/g,
    home: 'service/src/people/staff/',
    callers: { 'service/src/operator/': 'the operator, by commands of admins' },
  },
]

export function checkGivingCalls(sources: readonly Source[]): readonly Finding[] {
  return sources.filter(isService).flatMap((source) =>
    guarded.flatMap(({ call, home, callers }): readonly Finding[] => {
      const found = [...source.code.matchAll(call)]
      if (found.length === 0 || source.path.startsWith(home)) return []
      const [, why] = Object.entries(callers).find(([path]) => source.path.startsWith(path)) ?? []
      const isJudged = why !== undefined && (why !== 'judged' || /\bpermit\(/.test(source.code))
      return isJudged
        ? []
        : found.map(({ index }) => finding(source, index, 'gives or takes a key or a role without a judgement'))
    }),
  )
}

/** The tables whose statements the rule has read, and the places that write them. */
export const readTables = (sources: readonly Source[]): ReadonlyMap<string, ReadonlySet<string>> => {
  const found = new Map<string, Set<string>>()
  for (const { table, source } of sources.filter(isService).flatMap(writesIn))
    found.set(table, (found.get(table) ?? new Set()).add(source.path))
  return found
}
