/**
 * `node bench/console-pages.ts [ROWS]`: the time of the console's lists for a partner with ROWS transactions (1,000,000) against one with 1,000, in
 * alternating rounds, and the bytes of a first visit. A ratio near 1 says that a page reads what it shows.
 */
import { randomUUID } from 'node:crypto'
import { numbersGiven } from '../scripts/arguments.ts'
import { type JsonObject, listAt, success, textAt } from '../test/support/client.ts'
import { startTestService } from '../test/support/service.ts'
import { joinByPassword } from '../test/support/team.ts'
import { fillRows } from './fill.ts'

const rounds = 40
const fewRows = 1000
const { rows } = numbersGiven({ rows: 1_000_000 })
const say = (line: string) => console.log(line)
const median = (values: readonly number[]) => values.toSorted((left, right) => left - right)[values.length >> 1] ?? 0

type Visitor = { readonly cookie: string; readonly paths: Readonly<Record<string, string>> }

const service = await startTestService({ env: { PAGE_RATE_PER_SECOND: '100000', RATE_PER_SECOND: '100000' } })

/** A person of a new partner with so many transactions, and the addresses of its pages. */
async function visitorOf(count: number): Promise<Visitor> {
  const credentials = await service.operator('partner', 'create', '--name', `Partner with ${count}`)
  const client = service.clientOf(credentials)
  await fillRows(service.databaseUrl ?? '', textAt(credentials, 'partnerId'), count, say)
  const email = `${randomUUID()}@example.com`
  const person: JsonObject = { email, fullName: 'Joan Clarke', role: 'Admin' }
  success(await client.post('/v1/users/invitations', { invitations: [person] }))
  const { cookie } = await joinByPassword(service, email)
  const newest = listAt(success(await client.get('/v1/transactions?limit=1')))[0] ?? {}
  const deep = success(await client.get('/v1/transactions?limit=100'))
  return {
    cookie,
    paths: {
      'transactions, first page': 'transactions',
      'transactions, later page': `transactions?cursor=${encodeURIComponent(String(deep.nextCursor))}`,
      'transactions of a status': 'transactions?status=Completed',
      'one transaction': `transactions/${textAt(newest, 'reference')}`,
      'payouts, first page': 'payouts',
      home: 'home',
    },
  }
}

async function timed(
  { cookie, paths }: Visitor,
  name: string,
): Promise<{ readonly ms: number; readonly bytes: number }> {
  const from = performance.now()
  const answer = await fetch(`${service.baseUrl}/console/${paths[name] ?? ''}`, {
    headers: { cookie, 'accept-encoding': 'identity' },
    redirect: 'manual',
  })
  const { byteLength: bytes } = await answer.arrayBuffer()
  if (answer.status !== 200) throw new Error(`${name} answers ${answer.status}`)
  return { ms: performance.now() - from, bytes }
}

try {
  const [few, many] = [await visitorOf(fewRows), await visitorOf(rows)]
  say(`| page | ${fewRows.toLocaleString('en')} rows, ms | ${rows.toLocaleString('en')} rows, ms | ratio | KB |`)
  say('|---|---|---|---|---|')
  for (const name of Object.keys(few.paths)) {
    const times: { readonly few: number[]; readonly many: number[] } = { few: [], many: [] }
    let size = 0
    for (let round = 0; round < rounds; round++) {
      times.few.push((await timed(few, name)).ms)
      const { ms, bytes } = await timed(many, name)
      times.many.push(ms)
      size = bytes
    }
    const [left, right] = [median(times.few), median(times.many)]
    say(
      `| ${name} | ${left.toFixed(1)} | ${right.toFixed(1)} | ${(right / left).toFixed(2)} | ${(size / 1000).toFixed(0)} |`,
    )
  }
} finally {
  await service.dispose()
}
