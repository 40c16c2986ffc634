/** Commands of safeguarding: designated accounts, the computation of a day, its records as files, and their verification. */
import { readFile, writeFile } from 'node:fs/promises'
import { isSigned, ownJson, readForeign, Type } from '@partner-payments/wire'
import { ConfigError } from '../app/config.ts'
import { after, dayMs, systemClock } from '../kernel/index.ts'
import {
  type Content,
  digestOf,
  faultsOfContent,
  safeguardingCsv,
  safeguardingPdf,
  type SafeguardingRecord,
  type Signed,
  signedOfCsv,
} from '../reports/safeguarding/index.ts'
import { changing, record, refusedInOneLine } from './changes.ts'
import type { CommandsOf, Context } from './context.ts'
import type { OptionsOf } from './declarations.ts'

export const safeguardingCommands: Omit<CommandsOf<`safeguarding ${string}`>, 'safeguarding verify'> = {
  'safeguarding accounts set': async (context, { account, currency, staff, ...period }, call) => {
    const { from = systemClock.now().toISOString().slice(0, 10), until = null } = period
    const designation = { account: account.replaceAll(' ', ''), currency, from, until, staff }
    return refusedInOneLine(() =>
      changing(context, call, (tx) => context.service.safeguarding.designate(tx, designation)),
    )
  },

  'safeguarding accounts list': ({ service: { safeguarding }, db }) => safeguarding.accounts(db),

  /** Computes a day, and prints the record of each currency, new or not. */
  'safeguarding run': async ({ service, db }, { day, at }, call) => {
    const computed = await refusedInOneLine(() => service.safeguarding.compute(day, at))
    await db.transaction((tx) => record(service, tx, call))
    return computed.map(({ record: found, isNew }) => ({ isNew, ...viewOf(found) }))
  },

  /** The versions of a day, the last of each currency first. */
  'safeguarding show': async (context, options) => (await recordsOf(context, options, 'all')).map(viewOf),

  /** Writes the last version of a day in each currency to a file. */
  'safeguarding export': async (context, options) => {
    const { format, to: file } = options
    const records = await recordsOf(context, options, 'last')
    const signed = records.map(signedOf)
    try {
      if (format === 'pdf') await writeFile(file, safeguardingPdf(signed))
      else
        await writeFile(file, format === 'csv' ? safeguardingCsv(signed) : `${JSON.stringify(signed, undefined, 2)}\n`)
    } catch (error) {
      throw new ConfigError(`operator: ${file}: ${(error as Error).message}`)
    }
    return {
      file,
      format,
      records: records.map(({ day, currency, version, digest }) => ({ day, currency, version, digest })),
    }
  },
}

/** Verifies an exported file without a database: its signatures, its sums, and its key. */
export async function verifySafeguarding({ from: file, key }: OptionsOf<'safeguarding verify'>): Promise<object> {
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new ConfigError(`operator: ${file}: ${error.message}`)
  })
  const signed = text.startsWith('[') ? signedOfJson(text) : signedOfCsv(text)
  if (signed === undefined)
    throw new ConfigError(`operator: ${file}: is not an unchanged JSON or CSV export of "safeguarding export"`)
  const faults: string[] = []
  const records = signed.map((each) => {
    const { day, currency, version, status, ...content } = ownJson<Content>(each.content)
    const name = `${day} ${currency}`
    if (!isSigned(each)) faults.push(`${name}: the signature is wrong.`)
    if (key !== undefined && each.publicKey !== key) faults.push(`${name}: signed by another key.`)
    for (const fault of faultsOfContent({ day, currency, version, status, ...content }))
      faults.push(`${name}: ${fault}`)
    return { day, currency, version, status, digest: digestOf(each.content), publicKey: each.publicKey }
  })
  if (faults.length > 0) throw new ConfigError(`operator: ${file}: ${faults.join(' ')}`)
  return { isKeyCompared: key !== undefined, records }
}

const SignedFile = Type.Array(
  Type.Object({ content: Type.String(), signature: Type.String(), publicKey: Type.String() }),
  { minItems: 1 },
)
/** Records of some years, each of a few kilobytes. */
const signedCharsMax = 256 * 2 ** 20

const signedOfJson = (text: string): readonly Signed[] | undefined => readForeign(text, SignedFile, signedCharsMax)

const signedOf = ({ text: content, signature, publicKey }: SafeguardingRecord): Signed => ({
  content,
  signature: signature.toString('base64'),
  publicKey,
})

const viewOf = ({ digest, publicKey, content }: SafeguardingRecord) => ({ digest, publicKey, ...content })

async function recordsOf(
  { service, db }: Context,
  { day, currency: only }: OptionsOf<'safeguarding show'>,
  versions: 'all' | 'last',
) {
  const before = after(new Date(day), dayMs).toISOString().slice(0, 10)
  const last = (await service.safeguarding.list(db, { from: day, before, rowsMax: 100 })).filter(
    ({ currency }) => only === undefined || currency === only,
  )
  if (last.length === 0) throw new ConfigError(`operator: No safeguarding record of ${day}.`)
  if (versions === 'last') return last
  return (await Promise.all(last.map(({ currency }) => service.safeguarding.versions(db, day, currency)))).flat()
}
