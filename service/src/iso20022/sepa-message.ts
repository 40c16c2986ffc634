/** A message for a bank, all of whose texts fit. The files of a connector are written from nothing else. */
import { sepaReference, sepaText } from './sepa-text.ts'

/** Characters by element, in the guideline of SEPA or, where it has none, in the schemas. */
const charsMax: Readonly<Record<string, number>> = {
  name: 70,
  department: 70,
  subDepartment: 70,
  street: 70,
  buildingNumber: 16,
  buildingName: 35,
  floor: 70,
  postBox: 16,
  roomNumber: 70,
  postCode: 16,
  town: 35,
  townLocation: 35,
  district: 35,
  countrySubdivision: 35,
  lines: 70,
  id: 35,
  unstructured: 140,
  // Two lines of 105 characters.
  text: 210,
}
const references: ReadonlySet<string> = new Set(['endToEndId'])

/**
 * The message with every text in the characters of SEPA, cut to the length of its element after the transliteration.
 */
export const inSepaCharacters = <Message>(message: Message): Message => converted('', message) as Message

function converted(name: string, value: unknown): unknown {
  if (typeof value === 'string')
    return references.has(name) ? sepaReference(value) : sepaText(value, charsMax[name] ?? Infinity)
  if (Array.isArray(value)) return value.map((one: unknown) => converted(name, one))
  if (value === null || typeof value !== 'object' || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, converted(key, one)]))
}
