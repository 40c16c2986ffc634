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
import type { Node } from '../xml/tree.ts'
import { all, anyGiven, at, codeOf, given, one, statedAmount, text, texts, time, token } from './nodes.ts'

const filled = <T>(values: readonly T[]): readonly T[] | undefined => (values.length === 0 ? undefined : values)

function addressOf(node: Node | undefined): PostalAddress | undefined {
  if (node === undefined) return undefined
  return anyGiven<PostalAddress>({
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
    lines: filled(texts(node, 'AdrLine')),
  })
}

function otherIdOf(node: Node): OtherId | undefined {
  const id = token(node, 'Id')
  if (id === undefined) return undefined
  return given<OtherId>({ id, scheme: codeOf(one(node, 'SchmeNm')), issuer: text(node, 'Issr') })
}

function birthOf(node: Node | undefined): NonNullable<Party['id']>['birth'] {
  const [date, city, country] = [time(node, 'BirthDt'), text(node, 'CityOfBirth'), token(node, 'CtryOfBirth')]
  if (date === undefined || city === undefined || country === undefined) return undefined
  return given({ date, province: text(node, 'PrvcOfBirth'), city, country })
}

function partyIdOf(node: Node | undefined): Party['id'] {
  const [organisation, person] = [one(node, 'OrgId'), one(node, 'PrvtId')]
  const of = organisation ?? person
  if (of === undefined) return undefined
  const fields = anyGiven<Omit<NonNullable<Party['id']>, 'kind'>>({
    bic: token(of, 'AnyBIC') ?? token(of, 'BICOrBEI'),
    lei: token(of, 'LEI'),
    birth: birthOf(one(of, 'DtAndPlcOfBirth')),
    others: filled(all(of, 'Othr').flatMap((other) => otherIdOf(other) ?? [])),
  })
  return fields && { kind: organisation ? 'organisation' : 'private', ...fields }
}

/** Reads a party that is a bank: its name, BIC and LEI. */
function bankAsParty(node: Node): Party | undefined {
  const bank = agentOf(node)
  const { name, address, bic, lei } = bank ?? {}
  const id = anyGiven<{ bic: string; lei: string }>({ bic, lei })
  return anyGiven<Party>({ name, address, id: id && { kind: 'organisation', ...id } })
}

/** Reads PartyIdentification, also within Party40Choice. */
export function partyOf(node: Node | undefined): Party | undefined {
  const bank = one(node, 'Agt')
  if (bank) return bankAsParty(bank)
  const party = one(node, 'Pty') ?? node
  if (party === undefined || party.children.length === 0) return undefined
  return anyGiven<Party>({
    name: text(party, 'Nm'),
    address: addressOf(one(party, 'PstlAdr')),
    id: partyIdOf(one(party, 'Id')),
    residence: token(party, 'CtryOfRes'),
  })
}

export function agentOf(node: Node | undefined): Agent | undefined {
  const bank = one(node, 'FinInstnId')
  if (bank === undefined) return undefined
  const member = one(bank, 'ClrSysMmbId')
  const other = one(bank, 'Othr')
  return anyGiven<Agent>({
    bic: token(bank, 'BICFI') ?? token(bank, 'BIC'),
    lei: token(bank, 'LEI'),
    name: text(bank, 'Nm'),
    address: addressOf(one(bank, 'PstlAdr')),
    clearingSystem: codeOf(one(member, 'ClrSysId')),
    clearingId: token(member, 'MmbId'),
    otherId: other && otherIdOf(other),
    branchId: token(at(node, 'BrnchId'), 'Id'),
  })
}

/** Reads CashAccount. Some banks write an IBAN in groups of four. */
export function accountOf(node: Node | undefined): AccountId | undefined {
  const id = one(node, 'Id')
  const iban = token(id, 'IBAN')?.replaceAll(' ', '')
  if (iban !== undefined) return { iban }
  const other = one(id, 'Othr')
  const found = other && otherIdOf(other)
  if (found === undefined) return undefined
  const { id: name, ...rest } = found
  return { other: name, ...rest }
}

function structuredOf(node: Node): StructuredRemittance | undefined {
  const reference = one(node, 'CdtrRefInf')
  const amounts = one(node, 'RfrdDocAmt')
  const documents = all(node, 'RfrdDocInf').map((document) =>
    given<NonNullable<StructuredRemittance['documents']>[number]>({
      type: codeOf(at(document, 'Tp', 'CdOrPrtry')),
      number: token(document, 'Nb'),
      date: time(document, 'RltdDt'),
    }),
  )
  return anyGiven<StructuredRemittance>({
    creditorReference: token(reference, 'Ref'),
    referenceType: codeOf(at(reference, 'Tp', 'CdOrPrtry')),
    referenceIssuer: token(one(reference, 'Tp'), 'Issr'),
    documents: filled(documents),
    due: statedAmount(amounts, 'DuePyblAmt'),
    remitted: statedAmount(amounts, 'RmtdAmt'),
    additional: filled(texts(node, 'AddtlRmtInf')),
  })
}

export function remittanceOf(node: Node | undefined): Remittance | undefined {
  if (node === undefined) return undefined
  return anyGiven<Remittance>({
    unstructured: filled(texts(node, 'Ustrd')),
    structured: filled(all(node, 'Strd').flatMap((block) => structuredOf(block) ?? [])),
  })
}

/** Reads StsRsnInf, RtrInf or CxlRsnInf: the originator, the code and further texts. */
export function reasonOf(node: Node): Reason {
  const code = codeOf(one(node, 'Rsn'))
  return given<Reason>({
    code: code && 'code' in code ? code.code : undefined,
    proprietary: code && 'proprietary' in code ? code.proprietary : undefined,
    texts: texts(node, 'AddtlInf'),
    originator: partyOf(one(node, 'Orgtr')),
  })
}
