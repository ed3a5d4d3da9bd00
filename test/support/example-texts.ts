/** The same text with the names that differ from run to run made the same, so that answers compare with the documents' examples. */
export function withoutNames(text: string): unknown {
  return JSON.parse(
    text
      .replaceAll(/pay_[a-z2-7]{32}/g, 'pay_x')
      .replaceAll(/evt_[a-z2-7]{32}\d{6}[a-z2-7]{10}/g, 'evt_x')
      .replaceAll(/"request_id":"[^"]+"/g, '"request_id":"x"')
      .replaceAll(/"(ch|re)_[^"]+"/g, '"$1_x"')
      .replaceAll(/ord_[a-z2-7]{32}/g, 'ord_x')
      .replaceAll(/"rsv_[^"]+"/g, '"rsv_x"')
      .replaceAll(/ref_[a-z2-7]{58}/g, 'ref_x')
      .replaceAll(/cor_[a-z2-7]{32}/g, 'cor_x')
      .replaceAll(/ent_[\w-]+/g, 'ent_x'),
  );
}

export function sameAs(example: unknown): unknown {
  return withoutNames(JSON.stringify(example));
}
