/** Commands for screening: lists, hits, rules of countries, and incoming payments that lack data of their payers. Rules hold for all partners: the log of the operator has their records. */
import { createReadStream, type ReadStream } from 'node:fs'
import { ConfigError } from '../app/config.ts'
import { MessageProblem } from '../iso20022/index.ts'
import { amountText, type Minor } from '../kernel/index.ts'
import type { PayerRule } from '../deposits/index.ts'
import { readMigrations, type Tx } from '../postgres/index.ts'
import {
  type CountryAction,
  type ExclusionRow,
  exclusionsOf,
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
  type CommandsOf,
  type CommandContext,
  recordCommand,
  refusalAsLine,
} from './context.ts'
import type { OptionsOf } from './declarations.ts'

export const screeningCommands: CommandsOf<`${'screening' | 'payer-data'} ${string}`> = {
  /** Loads the whole list or nothing. The worker then screens the names of all partners again. */
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
    return refusalAsLine(() => screening.lists.load(list, staff, recorded))
  },

  /** Empties a list of politically exposed persons. Its open hits stay until persons have decided. */
  'screening remove': (context, { name, staff }, call) => {
    const source = readSource(name)
    return runChange(context, call, (tx) => context.service.screening.lists.remove(tx, source, staff))
  },

  /** The list of each source, the share of all names that was screened against the newest, and what is not screened. */
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
   * Screens everything that is due, beside the workers of the service, and prints the changes by the newest list: `new`
   * hits, those that are `gone` with their entry, and those whose entry has `changed`.
   */
  'screening rescreen': async ({ service: { screening, screener }, db }) => {
    while ((await screener.sweepStep()) > 0);
    let screened = 0
    for (let count = await screener.screenStep(); count > 0; count = await screener.screenStep()) screened += count
    const generation = await screening.lists.generation(db)
    const found: Hit[] = []
    for (let page: readonly Hit[] = []; ;) {
      page = await screening.differences(generation, page.at(-1)?.id ?? null, pageMax)
      found.push(...page)
      if (page.length < pageMax) break
    }
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

  /** The open hits, oldest first, each with every present and earlier name of its subject. */
  'screening hits': async ({ service: { screening, screener }, db }) =>
    Promise.all(
      (await readOpenHits(screening)).map(async (hit) => ({
        ...hitView(hit),
        names: await readNames(screener, db, hit),
      })),
    ),

  /**
   * One hit with all compared words, every present and earlier name of its subject, and its decisions. `view`: the listed entry beside the
   * party, the payments that wait because of it, and what was decided about the same pair before.
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

  /** Every match of a common name of this partner that a second datum excludes, with the reason. */
  'screening excluded': async ({ db }, { partner: partnerId }) => {
    const found: ExclusionRow[] = []
    for (let page: readonly ExclusionRow[] = []; ;) {
      page = await exclusionsOf(db, partnerId, page.at(-1), pageMax)
      found.push(...page)
      if (page.length < pageMax) return found
    }
  },

  /** Measures the loaded lists, some minutes of one core. Says on the standard error how far it has come. */
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
    return refusalAsLine(async () => hitView(await runAndRecord(context, call, (tx) => screening.decide(tx, deciding))))
  },

  /** Sets the rules of these countries. The worker then screens all names again. */
  'screening country set': (context, options, call) => changeCountryRules(context, options, call, options.action),

  'screening country list': async ({ service: { screening }, db }) => ({ rules: await screening.countries.list(db) }),

  /** Removes rules. Open hits stay until persons have decided. */
  'screening country remove': (context, options, call) => changeCountryRules(context, options, call, null),

  /** Sets a rule, or the measure of the one with the same banks, currency and amount. */
  'payer-data set': (context, { banks: region, currency, above = 0n, measure, days: answerDays }, call) =>
    runChange(context, call, async (tx) => ({
      rules: (await context.service.deposits.payers.setRule(tx, { region, currency, above, measure, answerDays })).map(
        payerRuleView,
      ),
    })),

  'payer-data list': async ({ service: { deposits }, db }) => ({
    rules: (await deposits.payers.rules(db)).map(payerRuleView),
  }),

  'payer-data remove': (context, { banks: region, currency, above = 0n }, call) =>
    runChange(context, call, async (tx) => ({
      rules: (await context.service.deposits.payers.removeRule(tx, { region, currency, above })).map(payerRuleView),
    })),

  /** The payments that wait for an answer, the next deadline first. */
  'payer-data waiting': async ({ service: { deposits }, db }) =>
    (await deposits.payers.waiting(db, payersShownMax)).map(
      ({ decision: _none, measure: _asked, lacks, ...check }) => ({
        ...check,
        amount: formatMoney(check),
        lacks: lacks.split(' '),
      }),
    ),

  'payer-data decide': (context, { partner: partnerId, id, outcome, ...given }, call) =>
    runChange(context, call, async (tx) => {
      const { name, account, address, identification } = given
      const answer = Object.fromEntries(
        Object.entries({ name, account, address, identification }).filter(([, value]) => value !== undefined),
      )
      await context.service.deposits.payers.decide(tx, { partnerId, id }, outcome === 'received' ? answer : null)
      return { id, outcome }
    }),

  'payer-data banks': async ({ service: { deposits }, db }, { since }) =>
    (await deposits.payers.failingBanks(db, since, payersShownMax)).map((bank) =>
      Object.fromEntries(
        Object.entries(bank).map(([name, value]) => [name, typeof value === 'bigint' ? Number(value) : value]),
      ),
    ),
}

/** `name`: that of a list of politically exposed persons. A list of sanctions says itself what it is. */
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

/** The present names first. */
const readNames = (
  screener: CommandContext['service']['screener'],
  tx: Tx,
  { partnerId, subjectKind: kind, subjectId: id }: Hit,
) => screener.namesOf(tx, { partnerId, kind, id })

async function readOpenHits(screening: CommandContext['service']['screening']): Promise<readonly Hit[]> {
  const open: Hit[] = []
  for (let page: readonly Hit[] = []; ;) {
    page = await screening.openHits(page.at(-1), pageMax)
    open.push(...page)
    if (page.length < pageMax) return open
  }
}

/** Summary of a hit for choosing one; `show` has the rest. */
function hitView({ words, entryDigest: _digest, endedGeneration: _ended, cause: _cause, ...hit }: Hit): object {
  return { ...hit, matched: words.map(({ word, listed, how }) => `${word ?? '-'} ~ ${listed ?? '-'}: ${how}`) }
}

const changeCountryRules = (
  context: CommandContext,
  { countries, for: sides, staff }: OptionsOf<'screening country remove'>,
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
