/**
 * Commands for screening: lists, hits, country rules, and payments without payer data. Rules apply to all partners, so
 * they are recorded in the operator's log.
 */
import { createReadStream, type ReadStream } from 'node:fs'
import { ConfigError } from '../app/config.ts'
import { MessageProblem } from '../iso20022/index.ts'
import { amountText, type Minor } from '../kernel/index.ts'
import type { PayerRule } from '../deposits/index.ts'
import { readMigrations, type Tx } from '../postgres/index.ts'
import {
  type CountryAction,
  type ExclusionRow,
  listExclusions,
  type HeldPayment,
  type Hit,
  pepSource,
  readPepList,
  readSanctionsList,
  type SanctionsList,
  screeningReport,
  screeningReportText,
} from '../screening/index.ts'
import {
  runChange,
  type CommandCall,
  runAndRecord,
  type CommandFunctions,
  type Context,
  recordCommand,
  readAllPages,
  refusalAsConfigError,
  operationCommand,
} from './context.ts'
import type { ParsedOptions } from './declarations.ts'

export const screeningCommands: CommandFunctions<`${'screening' | 'payer-data'} ${string}`> = {
  /** Loads the whole list or nothing. The worker then screens all names again. */
  'screening load': async ({ service }, { from: file, name, staff }, call) => {
    const list = await chooseReader(
      file,
      name,
    )(createReadStream(file)).catch((error: unknown) => {
      if (error instanceof MessageProblem)
        throw new ConfigError(`operator: ${file}, line ${error.line}: ${error.message} (${error.code})`)
      throw new ConfigError(`operator: ${file}: ${(error as Error).message}`)
    })
    const { screening } = service
    const recorded = (tx: Tx) => recordCommand(service, tx, { ...call, made: { list: list.source } })
    return refusalAsConfigError(() => screening.lists.load(list, staff, recorded))
  },

  /** Empties a list of politically exposed persons. Its open hits stay until people decide. */
  'screening remove': (context, { name, staff }, call) => {
    const source = readSource(name)
    return runChange(context, call, (tx) => context.service.screening.lists.remove(tx, source, staff))
  },

  /** Shows the loaded lists, how many names are still due for screening, and warnings. */
  'screening status': async ({ service: { screening, access }, db }) => {
    const lists = await screening.lists.current(db)
    const generation = await screening.lists.generation(db)
    let [subjects, due] = [0n, 0n]
    for (const partnerId of await access.partnerIds(db)) {
      const progress = await screening.progressOf(db, partnerId, generation)
      subjects += progress.subjects
      due += progress.due
    }
    const open = await readOpenHits(screening)
    const rules = await screening.countries.list(db)
    const warnings = [
      ...sanctionsSources
        .filter((source) => !lists.some((list) => list.source === source))
        .map((source) => `No list of ${source} is loaded.`),
      ...(rules.length === 0 ? ['No country is refused or reviewed: see screening country set.'] : []),
    ]
    return { lists, generation, subjects: Number(subjects), due: Number(due), openHits: open.length, warnings }
  },

  /**
   * Screens all names that are due, in parallel with the workers of the service, and prints what the newest list
   * changed: `new` hits, hits that are `gone` with their entry, and hits whose entry has `changed`.
   */
  'screening rescreen': async ({ service: { screening, screener }, db }) => {
    while ((await screener.sweepStep()) > 0);
    let screened = 0
    for (let count = await screener.screenStep(); count > 0; count = await screener.screenStep()) screened += count
    const generation = await screening.lists.generation(db)
    const found = await readAllPages<Hit>(pageMax, (last) =>
      screening.differences(generation, last?.id ?? null, pageMax),
    )
    const opened = found.filter(({ generation: from }) => from === generation)
    const replaced = new Set(opened.map(({ replaces }) => replaces))
    return {
      generation,
      screened,
      new: opened.filter(({ replaces }) => replaces === null).map(hitView),
      gone: found.filter((hit) => hit.endedGeneration === generation && !replaced.has(hit.id)).map(hitView),
      changed: opened.filter(({ replaces }) => replaces !== null).map(hitView),
    }
  },

  /** Lists the open hits, oldest first, each with all current and earlier names of its subject. */
  'screening hits': async ({ service: { screening, screener }, db }) =>
    Promise.all(
      (await readOpenHits(screening)).map(async (hit) => ({
        ...hitView(hit),
        names: await readNames(screener, db, hit),
      })),
    ),

  /**
   * Shows a hit with its compared words, the names of its subject, and its decisions. `view`: the listed entry, the payments that the hit
   * holds, and earlier decisions about the same pair.
   */
  'screening show': async ({ service: { screening, screener }, db }, { partner: partnerId, id }) => {
    const hit = await screening.hit(partnerId, id)
    if (hit === undefined) throw new ConfigError('operator: No such hit.')
    const names = await readNames(screener, db, hit)
    const { payments, sums, ...view } = await screener.viewOf(db, hit)
    const money = <M extends Pick<HeldPayment, 'amount' | 'currency'>>(row: M) => ({
      ...{ ...row, amount: amountText(row.amount, row.currency) },
    })
    const held = { payments: payments.map(money), sums: sums.map(money) }
    return { ...hit, names, decisions: await screening.decisionsOf(db, partnerId, id), view: { ...view, ...held } }
  },

  /** Lists matches of common names that another datum, such as a date of birth, rules out, with the reason. */
  'screening excluded': ({ db }, { partner: partnerId }) =>
    readAllPages<ExclusionRow>(pageMax, (last) => listExclusions(db, partnerId, last, pageMax)),

  /** Measures how many hits the loaded lists produce, which takes minutes. Prints its progress to standard error. */
  'screening report': async ({ service: { screening }, db, config }, { seed, names: namesMax, format }) => {
    const { lists, countries } = screening
    const settings = { pepHits: config.PEP_HITS, secondDatum: config.SECOND_DATUM }
    const version = (await readMigrations()).at(-1)?.name ?? 'none'
    const said = (line: string) => process.stderr.write(`${line}\n`)
    const report = await screeningReport({ db, lists, countries, settings, version, seed, namesMax, said })
    if (report === undefined) throw new ConfigError('operator: No list of sanctions is loaded.')
    if (format === 'json') return report
    const text = await screeningReportText(report)
    return (write) => write(text)
  },

  'screening decide': (context, { partner: partnerId, id, outcome, disposition, staff, note }, call) => {
    const { screening } = context.service
    const { staffId } = call
    const deciding = { partnerId, id, outcome, disposition, staff, ...(staffId === undefined ? {} : { staffId }), note }
    return refusalAsConfigError(async () =>
      hitView(await runAndRecord(context, call, (tx) => screening.decide(tx, deciding))),
    )
  },

  /** Sets rules of countries. The worker then screens all names again. */
  'screening country set': (context, options, call) => changeCountryRules(context, options, call, options.action),

  'screening country list': async ({ service: { screening }, db }) => ({ rules: await screening.countries.list(db) }),

  /** Removes rules of countries. Open hits stay until people decide. */
  'screening country remove': (context, options, call) => changeCountryRules(context, options, call, null),

  /** Sets a rule. Replaces the measure of a rule with the same banks, currency and amount. */
  'payer-data set': operationCommand(
    async ({ deposits }, tx, { banks: region, above = 0n, days: answerDays, ...rule }) => ({
      rules: (await deposits.payers.setRule(tx, { region, above, answerDays, ...rule })).map(payerRuleView),
    }),
  ),

  'payer-data list': async ({ service: { deposits }, db }) => ({
    rules: (await deposits.payers.rules(db)).map(payerRuleView),
  }),

  'payer-data remove': operationCommand(async ({ deposits }, tx, { banks: region, currency, above = 0n }) => ({
    rules: (await deposits.payers.removeRule(tx, { region, currency, above })).map(payerRuleView),
  })),

  'payer-data waiting': async ({ service: { deposits }, db }) =>
    (await deposits.payers.waiting(db, payersShownMax)).map(
      ({ decision: _none, measure: _asked, lacks, ...check }) => ({
        ...check,
        amount: formatMoney(check),
        lacks: lacks.split(' '),
      }),
    ),

  'payer-data decide': operationCommand(async ({ deposits }, tx, { partner: partnerId, id, outcome, ...given }) => {
    const { name, account, address, identification } = given
    const answer = Object.fromEntries(
      Object.entries({ name, account, address, identification }).filter(([, value]) => value !== undefined),
    )
    await deposits.payers.decide(tx, { partnerId, id }, outcome === 'received' ? answer : null)
    return { id, outcome }
  }),

  'payer-data banks': async ({ service: { deposits }, db }, { since }) =>
    (await deposits.payers.failingBanks(db, since, payersShownMax)).map((bank) =>
      Object.fromEntries(
        Object.entries(bank).map(([name, value]) => [name, typeof value === 'bigint' ? Number(value) : value]),
      ),
    ),
}

/**
 * Chooses the reader of a list. `name`: set for a list of politically exposed persons; a sanctions list contains its
 * own name.
 */
function chooseReader(file: string, name: string | undefined): (source: ReadStream) => Promise<SanctionsList> {
  if (name === undefined && file.toLowerCase().endsWith('.csv'))
    throw new ConfigError('operator: --name is required for a list of politically exposed persons (CSV)')
  if (name === undefined) return readSanctionsList
  const source = readSource(name)
  return (bytes) => readPepList(bytes, source)
}

function readSource(name: string) {
  const source = pepSource(name)
  if (source === undefined)
    throw new ConfigError('operator: --name must have 1 to 40 lower-case letters, digits, hyphens or underscores')
  return source
}

const pageMax = 1000
const sanctionsSources = ['un', 'eu', 'ofac'] as const

/** Reads the names of a hit's subject, current names first. */
const readNames = (
  screener: Context['service']['screener'],
  tx: Tx,
  { partnerId, subjectKind: kind, subjectId: id }: Hit,
) => screener.namesOf(tx, { partnerId, kind, id })

const readOpenHits = (screening: Context['service']['screening']): Promise<readonly Hit[]> =>
  readAllPages<Hit>(pageMax, (last) => screening.openHits(last, pageMax))

/** Formats a hit for a list. `screening show` prints all details. */
function hitView({ words, entryDigest: _digest, endedGeneration: _ended, cause: _cause, ...hit }: Hit): object {
  return { ...hit, matched: words.map(({ word, listed, how }) => `${word ?? '-'} ~ ${listed ?? '-'}: ${how}`) }
}

const changeCountryRules = (
  context: Context,
  { countries, for: sides, staff }: ParsedOptions<'screening country remove'>,
  call: CommandCall,
  action: CountryAction | null,
) =>
  runChange(context, call, async (tx) => ({
    rules: await context.service.screening.countries.change(tx, { countries, sides, action, staff }),
  }))

const payersShownMax = 1000

const formatMoney = ({ amount, currency }: { readonly amount: Minor; readonly currency: PayerRule['currency'] }) =>
  amountText(amount, currency)
const payerRuleView = ({ above, ...rule }: PayerRule) => ({ ...rule, above: formatMoney({ ...rule, amount: above }) })
