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
  childInformativeAmount,
  childText,
  childTexts,
  childTime,
  childToken,
} from './nodes.ts'

const undefinedIfEmpty = <T>(values: readonly T[]): readonly T[] | undefined =>
  values.length === 0 ? undefined : values

function readAddress(node: XmlNode | undefined): PostalAddress | undefined {
  if (node === undefined) return undefined
  return compactOrUndefined<PostalAddress>({
    department: childText(node, 'Dept'),
    subDepartment: childText(node, 'SubDept'),
    street: childText(node, 'StrtNm'),
    buildingNumber: childText(node, 'BldgNb'),
    buildingName: childText(node, 'BldgNm'),
    floor: childText(node, 'Flr'),
    postBox: childText(node, 'PstBx'),
    roomNumber: childText(node, 'Room'),
    postCode: childText(node, 'PstCd'),
    town: childText(node, 'TwnNm'),
    townLocation: childText(node, 'TwnLctnNm'),
    district: childText(node, 'DstrctNm'),
    countrySubdivision: childText(node, 'CtrySubDvsn'),
    country: childToken(node, 'Ctry'),
    lines: undefinedIfEmpty(childTexts(node, 'AdrLine')),
  })
}

function readOtherId(node: XmlNode): OtherId | undefined {
  const id = childToken(node, 'Id')
  if (id === undefined) return undefined
  return compact<OtherId>({ id, scheme: readCode(onlyChild(node, 'SchmeNm')), issuer: childText(node, 'Issr') })
}

function readBirth(node: XmlNode | undefined): NonNullable<Party['id']>['birth'] {
  const [date, city, country] = [
    childTime(node, 'BirthDt'),
    childText(node, 'CityOfBirth'),
    childToken(node, 'CtryOfBirth'),
  ]
  if (date === undefined || city === undefined || country === undefined) return undefined
  return compact({ date, province: childText(node, 'PrvcOfBirth'), city, country })
}

function readPartyId(node: XmlNode | undefined): Party['id'] {
  const [organisation, person] = [onlyChild(node, 'OrgId'), onlyChild(node, 'PrvtId')]
  const of = organisation ?? person
  if (of === undefined) return undefined
  const fields = compactOrUndefined<Omit<NonNullable<Party['id']>, 'kind'>>({
    bic: childToken(of, 'AnyBIC') ?? childToken(of, 'BICOrBEI'),
    lei: childToken(of, 'LEI'),
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
    name: childText(party, 'Nm'),
    address: readAddress(onlyChild(party, 'PstlAdr')),
    id: readPartyId(onlyChild(party, 'Id')),
    residence: childToken(party, 'CtryOfRes'),
  })
}

export function readAgent(node: XmlNode | undefined): Agent | undefined {
  const bank = onlyChild(node, 'FinInstnId')
  if (bank === undefined) return undefined
  const member = onlyChild(bank, 'ClrSysMmbId')
  const other = onlyChild(bank, 'Othr')
  return compactOrUndefined<Agent>({
    bic: childToken(bank, 'BICFI') ?? childToken(bank, 'BIC'),
    lei: childToken(bank, 'LEI'),
    name: childText(bank, 'Nm'),
    address: readAddress(onlyChild(bank, 'PstlAdr')),
    clearingSystem: readCode(onlyChild(member, 'ClrSysId')),
    clearingId: childToken(member, 'MmbId'),
    otherId: other && readOtherId(other),
    branchId: childToken(descendant(node, 'BrnchId'), 'Id'),
  })
}

/** Reads CashAccount. Some banks write an IBAN in groups of four. */
export function readAccount(node: XmlNode | undefined): AccountId | undefined {
  const id = onlyChild(node, 'Id')
  const iban = childToken(id, 'IBAN')?.replaceAll(' ', '')
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
      number: childToken(document, 'Nb'),
      date: childTime(document, 'RltdDt'),
    }),
  )
  return compactOrUndefined<StructuredRemittance>({
    creditorReference: childToken(reference, 'Ref'),
    referenceType: readCode(descendant(reference, 'Tp', 'CdOrPrtry')),
    referenceIssuer: childToken(onlyChild(reference, 'Tp'), 'Issr'),
    documents: undefinedIfEmpty(documents),
    due: childInformativeAmount(amounts, 'DuePyblAmt'),
    remitted: childInformativeAmount(amounts, 'RmtdAmt'),
    additional: undefinedIfEmpty(childTexts(node, 'AddtlRmtInf')),
  })
}

export function readRemittance(node: XmlNode | undefined): Remittance | undefined {
  if (node === undefined) return undefined
  return compactOrUndefined<Remittance>({
    unstructured: undefinedIfEmpty(childTexts(node, 'Ustrd')),
    structured: undefinedIfEmpty(childrenNamed(node, 'Strd').flatMap((block) => readStructured(block) ?? [])),
  })
}

/** Reads StsRsnInf, RtrInf or CxlRsnInf: the originator, the code and further texts. */
export function readReason(node: XmlNode): Reason {
  const code = readCode(onlyChild(node, 'Rsn'))
  return compact<Reason>({
    code: code && 'code' in code ? code.code : undefined,
    proprietary: code && 'proprietary' in code ? code.proprietary : undefined,
    texts: childTexts(node, 'AddtlInf'),
    originator: readParty(onlyChild(node, 'Orgtr')),
  })
}
