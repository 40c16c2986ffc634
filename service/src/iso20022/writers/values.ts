/**
 * Writes parties, banks, accounts, amounts, remittance and reasons, in the order of the schemas of 2019. pain.001.001.03 is
 * of 2009 and names some elements differently.
 */
import { amountText } from '../../kernel/index.ts'
import type {
  AccountId,
  Agent,
  Amount,
  Code,
  OtherId,
  Party,
  PostalAddress,
  Reason,
  Remittance,
  StructuredRemittance,
} from '../model.ts'
import { element, optionalElement, shorten, wrapElement, xmlText } from '../xml/text.ts'

/** `2009`: pain.001.001.03, without LEI. `2009 lines`: with addresses of a country and two lines, as in SEPA until 14 November 2026. */
export type Edition = '2009' | '2009 lines' | '2019'
export const isOldEdition = (edition: Edition): boolean => edition !== '2019'

export const amountXml = (name: string, amount: Amount | undefined): string => {
  if (amount === undefined) return ''
  const text = amount.minor === null ? amount.text : amountText(amount.minor, amount.currency)
  return `<${name} Ccy="${amount.currency}">${text}</${name}>`
}

const codeContent = (code: Code): string =>
  'code' in code ? element('Cd', xmlText(code.code)) : element('Prtry', xmlText(code.proprietary))
export const codeXml = (name: string, code: Code | undefined): string =>
  code === undefined ? '' : element(name, codeContent(code))

/** Writes DateAndDateTime2Choice: a date, or a date with a time. */
export const dateXml = (name: string, date: string | undefined): string =>
  date === undefined ? '' : element(name, dateContent(date))
const dateContent = (date: string): string => optionalElement(date.includes('T') ? 'DtTm' : 'Dt', date)

export const flagXml = (name: string, flag: boolean | undefined): string =>
  flag === undefined ? '' : element(name, String(flag))
export const directionXml = (isCredit: boolean | undefined): string =>
  isCredit === undefined ? '' : element('CdtDbtInd', isCredit ? 'CRDT' : 'DBIT')
export const numberXml = (name: string, number: number | undefined): string =>
  number === undefined ? '' : element(name, String(number))

const textsXml = (name: string, texts: readonly string[] = []): string =>
  texts.map((text) => element(name, xmlText(text))).join('')

const addressCharsMax = 70

/** Writes an address as a country and at most two lines (EPC132-08 for pain.001.001.03, before the 2025 rulebooks). */
function linesXml(address: PostalAddress): string {
  const { street, buildingNumber, buildingName, floor, roomNumber, postBox, department, subDepartment } = address
  const { postCode, town, townLocation, district, countrySubdivision, country, lines = [] } = address
  const joined = (parts: readonly (string | undefined)[]) =>
    shorten(parts.filter((part) => part !== undefined).join(' '), addressCharsMax).trim()
  const where = [department, subDepartment, buildingName, floor, roomNumber, street, buildingNumber, postBox]
  const place = joined([postCode, town, townLocation, district, countrySubdivision])
  const written = place === '' ? [joined(where), ...lines] : [joined([...where, ...lines]), place]
  const found = written.filter((line) => line !== '').slice(0, 2)
  return wrapElement('PstlAdr', optionalElement('Ctry', country) + textsXml('AdrLine', found))
}

/** Writes PostalAddress6, with town and country. Fields without an element go into the two lines of a hybrid address. */
function oldAddressXml(address: PostalAddress): string {
  const { buildingName, floor, roomNumber, postBox, townLocation, district, lines = [] } = address
  const others = [buildingName, floor, roomNumber, postBox, townLocation, district].filter((part) => part !== undefined)
  const all = [...(others.length === 0 ? [] : [shorten(others.join(' '), addressCharsMax).trim()]), ...lines]
  return wrapElement(
    'PstlAdr',
    optionalElement('Dept', address.department) +
      optionalElement('SubDept', address.subDepartment) +
      optionalElement('StrtNm', address.street) +
      optionalElement('BldgNb', address.buildingNumber) +
      optionalElement('PstCd', address.postCode) +
      optionalElement('TwnNm', address.town) +
      optionalElement('CtrySubDvsn', address.countrySubdivision) +
      optionalElement('Ctry', address.country) +
      textsXml('AdrLine', all.slice(0, 2)),
  )
}

function addressXml(address: PostalAddress | undefined, edition: Edition): string {
  if (address === undefined) return ''
  if (edition === '2009 lines') return linesXml(address)
  if (edition === '2009') return oldAddressXml(address)
  return wrapElement(
    'PstlAdr',
    optionalElement('Dept', address.department) +
      optionalElement('SubDept', address.subDepartment) +
      optionalElement('StrtNm', address.street) +
      optionalElement('BldgNb', address.buildingNumber) +
      optionalElement('BldgNm', address.buildingName) +
      optionalElement('Flr', address.floor) +
      optionalElement('PstBx', address.postBox) +
      optionalElement('Room', address.roomNumber) +
      optionalElement('PstCd', address.postCode) +
      optionalElement('TwnNm', address.town) +
      optionalElement('TwnLctnNm', address.townLocation) +
      optionalElement('DstrctNm', address.district) +
      optionalElement('CtrySubDvsn', address.countrySubdivision) +
      optionalElement('Ctry', address.country) +
      textsXml('AdrLine', address.lines),
  )
}

const otherIdContent = ({ id, scheme, issuer }: OtherId): string =>
  element('Id', xmlText(id)) + codeXml('SchmeNm', scheme) + optionalElement('Issr', issuer)

function partyIdXml(id: Party['id'], edition: Edition): string {
  if (id === undefined) return ''
  const { kind, birth, others: given = [] } = id
  const isOld = isOldEdition(edition)
  const others = isOld && id.lei !== undefined ? [...given, { id: id.lei, scheme: { code: 'LEI' } }] : given
  const born =
    birth &&
    optionalElement('BirthDt', birth.date) +
      optionalElement('PrvcOfBirth', birth.province) +
      optionalElement('CityOfBirth', birth.city) +
      optionalElement('CtryOfBirth', birth.country)
  const identified =
    kind === 'organisation'
      ? optionalElement(isOld ? 'BICOrBEI' : 'AnyBIC', id.bic) + (isOld ? '' : optionalElement('LEI', id.lei))
      : wrapElement('DtAndPlcOfBirth', born ?? '')
  const content = identified + others.map((other) => element('Othr', otherIdContent(other))).join('')
  return wrapElement('Id', wrapElement(kind === 'organisation' ? 'OrgId' : 'PrvtId', content))
}

export const partyContent = (party: Party, edition: Edition = '2019'): string =>
  optionalElement('Nm', party.name) +
  addressXml(party.address, edition) +
  partyIdXml(party.id, edition) +
  optionalElement('CtryOfRes', party.residence)

export const partyXml = (name: string, party: Party | undefined, edition: Edition = '2019'): string =>
  party === undefined ? '' : element(name, partyContent(party, edition))

/** Writes Party40Choice. */
export const chosenPartyXml = (name: string, party: Party | undefined): string =>
  party === undefined ? '' : element(name, element('Pty', partyContent(party)))

export const agentContent = (agent: Agent, edition: Edition = '2019'): string =>
  element(
    'FinInstnId',
    optionalElement(isOldEdition(edition) ? 'BIC' : 'BICFI', agent.bic) +
      wrapElement(
        'ClrSysMmbId',
        codeXml('ClrSysId', agent.clearingSystem) + optionalElement('MmbId', agent.clearingId),
      ) +
      (isOldEdition(edition) ? '' : optionalElement('LEI', agent.lei)) +
      optionalElement('Nm', agent.name) +
      addressXml(agent.address, edition) +
      (agent.otherId ? element('Othr', otherIdContent(agent.otherId)) : ''),
  ) + wrapElement('BrnchId', optionalElement('Id', agent.branchId))

export const agentXml = (name: string, agent: Agent | undefined, edition: Edition = '2019'): string =>
  agent === undefined ? '' : element(name, agentContent(agent, edition))

export const accountContent = (account: AccountId): string =>
  element(
    'Id',
    'iban' in account
      ? element('IBAN', xmlText(account.iban))
      : element('Othr', otherIdContent({ ...account, id: account.other })),
  )
/** `type`: ExternalCashAccountType1Code. */
export const accountXml = (
  name: string,
  account: AccountId | undefined,
  { type, currency }: { readonly type?: string | undefined; readonly currency?: string | undefined } = {},
): string =>
  account === undefined
    ? ''
    : element(
        name,
        accountContent(account) + wrapElement('Tp', optionalElement('Cd', type)) + optionalElement('Ccy', currency),
      )

function structuredXml(block: StructuredRemittance): string {
  const { creditorReference, referenceType, referenceIssuer, documents = [], due, remitted, additional } = block
  // A creditor reference has the type SCOR (ISO 11649 and the SEPA guideline).
  const isPlain = creditorReference !== undefined && referenceType === undefined && referenceIssuer === undefined
  const type = isPlain ? { code: 'SCOR' } : referenceType
  const issuer = isPlain && /^RF\d\d/.test(creditorReference) ? 'ISO' : referenceIssuer
  return element(
    'Strd',
    documents
      .map(({ type: documentType, number, date }) =>
        element(
          'RfrdDocInf',
          wrapElement('Tp', codeXml('CdOrPrtry', documentType)) +
            optionalElement('Nb', number) +
            optionalElement('RltdDt', date),
        ),
      )
      .join('') +
      wrapElement('RfrdDocAmt', amountXml('DuePyblAmt', due) + amountXml('RmtdAmt', remitted)) +
      wrapElement(
        'CdtrRefInf',
        wrapElement('Tp', codeXml('CdOrPrtry', type) + optionalElement('Issr', issuer)) +
          optionalElement('Ref', creditorReference),
      ) +
      textsXml('AddtlRmtInf', additional),
  )
}

export const remittanceXml = (remittance: Remittance | undefined): string =>
  remittance === undefined
    ? ''
    : wrapElement(
        'RmtInf',
        textsXml('Ustrd', remittance.unstructured) + (remittance.structured ?? []).map(structuredXml).join(''),
      )

export function reasonXml(name: string, reason: Reason): string {
  const { code, proprietary, texts, originator } = reason
  const own = optionalElement('Cd', code) + (code === undefined ? optionalElement('Prtry', proprietary) : '')
  return element(name, partyXml('Orgtr', originator) + wrapElement('Rsn', own) + textsXml('AddtlInf', texts))
}
