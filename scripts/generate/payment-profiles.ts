/** The page of the profiles of pain.001: what each writes, the rules of its market, and the requirements of payments, with their days and sources. */
import {
  type PaymentKindForm,
  type Pain001Profile,
  profileIds,
  profileById,
  type ProfileRule,
} from '../../service/src/iso20022/index.ts'
import { type Requirement, requirements } from '../../service/src/rails/index.ts'

const header = `# Profiles of payment files

The field \`profile\` of a bank chooses how its \`pain.001\` are written ([connect a bank](../guides/connect-a-bank.md)). Tests hold files of
each profile against the rules below, and against the schemas if they are there. A source that is only quoted was read in another
document, which is named: ask the bank for the original.

This page is generated from \`service/src/iso20022/profiles/\` and \`service/src/rails/requirements.ts\`.
`

const requirementRow = ({
  party,
  field,
  rule,
  rail,
  currencies,
  countries,
  profiles,
  source,
  ...days
}: Requirement): string =>
  `| ${party} | \`${field}\` | ${rule} | ${rail} | ${currencies?.join(', ') ?? 'all'} | ${countries === undefined ? 'all' : countriesText(countries)} | ${profiles?.join(', ') ?? 'all'} | ${daysOf(days)} | ${source} |`

/** Countries by some examples: the rule is a set. */
const countriesText = (holds: (country: string) => boolean): string =>
  `for example ${['US', 'GB', 'CH', 'LI', 'DE'].map((country) => `${country} ${holds(country) ? 'yes' : 'no'}`).join(', ')}`

const requirementSection = (): string => `
## Requirements of payments

What payments need of the payee, the payer and the payment ([0138](../decisions/0138-requirements-are-data.md)); \`GET /v1/beneficiaries/requirements\` answers them for a country and a currency.

| party | field | rule | rail | currencies | countries of the account | profiles | execution days | source |
|---|---|---|---|---|---|---|---|---|
${requirements.map(requirementRow).join('\n')}
`

function demandText({ demand }: ProfileRule): string {
  switch (demand.is) {
    case 'oneOf':
      return `is ${demand.values.map((value) => `\`${value}\``).join(' or ')}`
    case 'noneOf':
      return `is not ${demand.values.map((value) => `\`${value}\``).join(' or ')}`
    case 'form':
      return `has the form \`${demand.pattern.replaceAll('|', '\\|')}\``
    case 'count':
      return `at most ${demand.max}`
    default:
      return demand.is
  }
}

const daysOf = ({ from, until }: Pick<ProfileRule, 'from' | 'until'>): string =>
  [from === undefined ? '' : `from ${from}`, until === undefined ? '' : `until ${until}`].join(' ').trim() || 'always'

const ruleRow = (rule: ProfileRule): string =>
  `| \`${rule.within}/${rule.element}\` | ${demandText(rule)} | ${rule.kinds?.join(', ') ?? 'all'} | ${daysOf(rule)} | ${rule.source}, ${rule.place} |`

const kindRow = ([kind, { serviceLevel, localInstrument, chargeBearer }]: [string, PaymentKindForm]): string =>
  `| ${kind} | ${serviceLevel ?? '-'} | ${localInstrument ?? '-'} | ${chargeBearer ?? '-'} |`

const section = (profile: Pain001Profile): string => `
## ${profile.id}

${profile.title}

| payments | \`SvcLvl\` | \`LclInstrm\` | \`ChrgBr\` |
|---|---|---|---|
${Object.entries(profile.kinds).map(kindRow).join('\n')}

| element | rule | payments | execution days | source |
|---|---|---|---|---|
${profile.rules.map(ruleRow).join('\n')}

${Object.entries(profile.sources)
  .map(
    ([key, { title, edition, publisher, found, read }]) =>
      `- **${key}**: ${title}, ${edition} (${publisher}). ${read === 'whole' ? 'Read' : 'Quoted'}: ${found}.`,
  )
  .join('\n')}
`

export const paymentProfilesPage = (): string =>
  header +
  profileIds
    .flatMap((id) => profileById(id) ?? [])
    .map(section)
    .join('') +
  requirementSection()
