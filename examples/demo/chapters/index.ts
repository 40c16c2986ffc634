/**
 * The chapters of the demo, one for each group of what a partner does with money. Each has a partner of its own, so that it runs
 * alone (`npm run demo -- --chapter NAME`) and no rule of one holds for another. A further chapter is a file and a line here.
 */
import { join } from 'node:path'
import { mkdir } from 'node:fs/promises'
import { type Credentials, type Hooks, createClient } from '@partner-payments/sdk'
import type { Print } from '../print.ts'
import type { Check } from '../reconcile.ts'
import type { Service } from '../service.ts'
import type { Until } from '../until.ts'
import { accounts } from './accounts.ts'
import { audit } from './audit.ts'
import { bulk } from './bulk.ts'
import { controls } from './controls.ts'
import { customers } from './customers.ts'
import { gates } from './gates.ts'
import { ibans } from './ibans.ts'
import { inside } from './inside.ts'
import { monitoring } from './monitoring.ts'
import { monitors } from './monitors.ts'
import { orders } from './orders.ts'
import { parts } from './parts.ts'
import { payees } from './payees.ts'
import { privacy } from './privacy.ts'
import { recalls } from './recalls.ts'
import { refunds } from './refunds.ts'
import { screening } from './screening.ts'
import { present, type Chapter, type Stage } from './stage.ts'
import { transactions } from './transactions.ts'

/** Ordered as the story. Screening is last: from its list on, every name waits until it is compared. */
export const chapters: readonly Chapter[] = [
  customers,
  gates,
  payees,
  accounts,
  parts,
  ibans,
  inside,
  monitors,
  controls,
  bulk,
  orders,
  recalls,
  refunds,
  transactions,
  monitoring,
  audit,
  privacy,
  screening,
]

type Theatre = {
  readonly service: Pick<Service, 'baseUrl' | 'dataDir' | 'operator'>
  readonly print: Print
  readonly until: Until
}

type IssuedCredentials = Credentials & { readonly partnerId: string }

/** Runs chapters one after the other. Each fact that one shows is a check; a chapter that breaks off is a failed one. */
export async function runChapters(theatre: Theatre, chosen: readonly Chapter[]): Promise<readonly Check[]> {
  const checks: Check[] = []
  const partners = partnersOf(theatre, chosen)
  for (const chapter of chosen) {
    const { name, title, run } = chapter
    theatre.print('chapter', `${name}: ${title}`)
    const add = (what: string, agreed: string, differences: readonly string[]) =>
      void checks.push({ title: `${name}: ${what}`, agreed, differences })
    try {
      const issued = await partners(chapter)
      await run(await stageOf(theatre, chapter, issued, add))
      await allEnded(theatre, issued)
    } catch (error) {
      add('breaks off', '', [error instanceof Error ? (error.stack ?? error.message) : String(error)])
    }
  }
  return checks
}

type Add = (what: string, agreed: string, differences: readonly string[]) => void

/** Creates the partner of the next chapter while one runs: an operator command takes seconds. */
function partnersOf({ service }: Theatre, chosen: readonly Chapter[]) {
  const created = new Map<Chapter, Promise<IssuedCredentials>>()
  const create = (chapter: Chapter | undefined) => {
    if (chapter === undefined || created.has(chapter)) return
    const issued = service.operator(
      'partner',
      'create',
      '--name',
      `Partner of ${chapter.name}`,
    ) as Promise<IssuedCredentials>
    // The chapter reports it.
    issued.catch(() => undefined)
    created.set(chapter, issued)
  }
  return async (chapter: Chapter): Promise<IssuedCredentials> => {
    create(chapter)
    const issued = present(await created.get(chapter), 'the partner')
    create(chosen[chosen.indexOf(chapter) + 1])
    return issued
  }
}

/** The ledger is audited after the last chapter, when no money moves. */
async function allEnded({ service: { baseUrl }, until }: Theatre, credentials: Credentials): Promise<void> {
  const client = createClient({ ...credentials, baseUrl })
  await until('every transaction of the chapter has ended', async () => {
    const { data } = await client.transactions.list({ status: 'Pending' })
    return data.length === 0
  })
}

async function stageOf(
  { service, print, until }: Theatre,
  { name }: Chapter,
  issued: IssuedCredentials,
  add: Add,
): Promise<Stage> {
  const { baseUrl, dataDir } = service
  const say = (text: string) => print(name, text)
  const hooks = hooksOf(print)
  const clientOf = ({ apiKey, apiSecret, privateKeyPem }: Credentials) =>
    createClient({ baseUrl, apiKey, apiSecret, privateKeyPem, hooks })
  const { partnerId } = issued
  const folder = join(dataDir, 'chapters', name)
  await mkdir(folder, { recursive: true })
  return {
    client: clientOf(issued),
    partnerId,
    colleague: async (person, permissions) => {
      const words = ['--partner', partnerId, '--name', person, '--permissions', permissions]
      return clientOf((await service.operator('service-account', 'create', ...words)) as IssuedCredentials)
    },
    operator: async <T>(...words: readonly string[]) => {
      say(`  operator ${words.slice(0, 2).join(' ')}`)
      return (await service.operator(...words)) as T
    },
    say,
    show: (what, actual, expected) => {
      say(`${what}: ${actual}`)
      add(what, actual, actual === expected ? [] : [`${actual}, expected ${expected}`])
    },
    until,
    folder,
  }
}

/** Prints each call of the client, but not one that repeats the call before it: a chapter that waits asks again and again. */
function hooksOf(print: Print): Hooks {
  let last = ''
  return {
    onResponse: ({ method, path, status, code }) => {
      const line = `${method} ${path} ${code === undefined ? status : `${status} ${code}`}`
      if (line !== last) print('', `  ${line}`)
      last = line
    },
  }
}
