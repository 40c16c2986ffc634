/** Reads parties, banks, accounts, remittance and reasons, which are the same in all messages. */
import type {
  AccountId,
  Agent,
  OtherId,
  Party,
  PostalAddress,
  Reason,
  Remittance,
  StructuredRemittance,
} from '../model.ts'
import type { XmlNode } from '../xml/tree.ts'
import {
  childrenNamed,
  compactOrUndefined,
  descendant,
  readCode,
  compact,
  onlyChild,
  statedAmount,
  text,
  texts,
  time,
  token,
} from './nodes.ts'

const undefinedIfEmpty = <T>(values: readonly T[]): readonly T[] | undefined =>
  values.length === 0 ? undefined : values

function readAddress(node: XmlNode | undefined): PostalAddress | undefined {
  if (node === undefined) return undefined
  return compactOrUndefined<PostalAddress>({
    department: text(node, 'Dept'),
    subDepartment: text(node, 'SubDept'),
    street: text(node, 'StrtNm'),
    buildingNumber: text(node, 'BldgNb'),
    buildingName: text(node, 'BldgNm'),
    floor: text(node, 'Flr'),
    postBox: text(node, 'PstBx'),
    roomNumber: text(node, 'Room'),
    postCode: text(node, 'PstCd'),
    town: text(node, 'TwnNm'),
    townLocation: text(node, 'TwnLctnNm'),
    district: text(node, 'DstrctNm'),
    countrySubdivision: text(node, 'CtrySubDvsn'),
    country: token(node, 'Ctry'),
    lines: undefinedIfEmpty(texts(node, 'AdrLine')),
  })
}

function readOtherId(node: XmlNode): OtherId | undefined {
  const id = token(node, 'Id')
  if (id === undefined) return undefined
  return compact<OtherId>({ id, scheme: readCode(onlyChild(node, 'SchmeNm')), issuer: text(node, 'Issr') })
}

function readBirth(node: XmlNode | undefined): NonNullable<Party['id']>['birth'] {
  const [date, city, country] = [time(node, 'BirthDt'), text(node, 'CityOfBirth'), token(node, 'CtryOfBirth')]
  if (date === undefined || city === undefined || country === undefined) return undefined
  return compact({ date, province: text(node, 'PrvcOfBirth'), city, country })
}

function readPartyId(node: XmlNode | undefined): Party['id'] {
  const [organisation, person] = [onlyChild(node, 'OrgId'), onlyChild(node, 'PrvtId')]
  const of = organisation ?? person
  if (of === undefined) return undefined
  const fields = compactOrUndefined<Omit<NonNullable<Party['id']>, 'kind'>>({
    bic: token(of, 'AnyBIC') ?? token(of, 'BICOrBEI'),
    lei: token(of, 'LEI'),
    birth: readBirth(onlyChild(of, 'DtAndPlcOfBirth')),
    others: undefinedIfEmpty(childrenNamed(of, 'Othr').flatMap((other) => readOtherId(other) ?? [])),
  })
  return fields && { kind: organisation ? 'organisation' : 'private', ...fields }
}

/** Reads a party that is a bank: its name, BIC and LEI. */
function readBankAsParty(node: XmlNode): Party | undefined {
  const bank = readAgent(node)
  const { name, address, bic, lei } = bank ?? {}
  const id = compactOrUndefined<{ bic: string; lei: string }>({ bic, lei })
  return compactOrUndefined<Party>({ name, address, id: id && { kind: 'organisation', ...id } })
}

/** Reads PartyIdentification, also within Party40Choice. */
export function readParty(node: XmlNode | undefined): Party | undefined {
  const bank = onlyChild(node, 'Agt')
  if (bank) return readBankAsParty(bank)
  const party = onlyChild(node, 'Pty') ?? node
  if (party === undefined || party.children.length === 0) return undefined
  return compactOrUndefined<Party>({
    name: text(party, 'Nm'),
    address: readAddress(onlyChild(party, 'PstlAdr')),
    id: readPartyId(onlyChild(party, 'Id')),
    residence: token(party, 'CtryOfRes'),
  })
}

export function readAgent(node: XmlNode | undefined): Agent | undefined {
  const bank = onlyChild(node, 'FinInstnId')
  if (bank === undefined) return undefined
  const member = onlyChild(bank, 'ClrSysMmbId')
  const other = onlyChild(bank, 'Othr')
  return compactOrUndefined<Agent>({
    bic: token(bank, 'BICFI') ?? token(bank, 'BIC'),
    lei: token(bank, 'LEI'),
    name: text(bank, 'Nm'),
    address: readAddress(onlyChild(bank, 'PstlAdr')),
    clearingSystem: readCode(onlyChild(member, 'ClrSysId')),
    clearingId: token(member, 'MmbId'),
    otherId: other && readOtherId(other),
    branchId: token(descendant(node, 'BrnchId'), 'Id'),
  })
}

/** Reads CashAccount. Some banks write an IBAN in groups of four. */
export function readAccount(node: XmlNode | undefined): AccountId | undefined {
  const id = onlyChild(node, 'Id')
  const iban = token(id, 'IBAN')?.replaceAll(' ', '')
  if (iban !== undefined) return { iban }
  const other = onlyChild(id, 'Othr')
  const found = other && readOtherId(other)
  if (found === undefined) return undefined
  const { id: name, ...rest } = found
  return { other: name, ...rest }
}

function readStructured(node: XmlNode): StructuredRemittance | undefined {
  const reference = onlyChild(node, 'CdtrRefInf')
  const amounts = onlyChild(node, 'RfrdDocAmt')
  const documents = childrenNamed(node, 'RfrdDocInf').map((document) =>
    compact<NonNullable<StructuredRemittance['documents']>[number]>({
      type: readCode(descendant(document, 'Tp', 'CdOrPrtry')),
      number: token(document, 'Nb'),
      date: time(document, 'RltdDt'),
    }),
  )
  return compactOrUndefined<StructuredRemittance>({
    creditorReference: token(reference, 'Ref'),
    referenceType: readCode(descendant(reference, 'Tp', 'CdOrPrtry')),
    referenceIssuer: token(onlyChild(reference, 'Tp'), 'Issr'),
    documents: undefinedIfEmpty(documents),
    due: statedAmount(amounts, 'DuePyblAmt'),
    remitted: statedAmount(amounts, 'RmtdAmt'),
    additional: undefinedIfEmpty(texts(node, 'AddtlRmtInf')),
  })
}

export function readRemittance(node: XmlNode | undefined): Remittance | undefined {
  if (node === undefined) return undefined
  return compactOrUndefined<Remittance>({
    unstructured: undefinedIfEmpty(texts(node, 'Ustrd')),
    structured: undefinedIfEmpty(childrenNamed(node, 'Strd').flatMap((block) => readStructured(block) ?? [])),
  })
}

/** Reads StsRsnInf, RtrInf or CxlRsnInf: the originator, the code and further texts. */
export function readReason(node: XmlNode): Reason {
  const code = readCode(onlyChild(node, 'Rsn'))
  return compact<Reason>({
    code: code && 'code' in code ? code.code : undefined,
    proprietary: code && 'proprietary' in code ? code.proprietary : undefined,
    texts: texts(node, 'AddtlInf'),
    originator: readParty(onlyChild(node, 'Orgtr')),
  })
}
