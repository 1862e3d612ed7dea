"""Orders to forget what was told before, in the languages that forgers use most besides English.

Written for text without accents, as `disguise` shows it; a blank stands for any space or soft line break.
"""

from __future__ import annotations


def gap(words: int) -> str:
    """Up to so many words of the same sentence, and what parts them from the next."""
    return rf"(?:[^\w\n.!?;]{{1,9}}+[\w'’]{{1,20}}+){{0,{words}}}?[^\w\n.!?;]{{1,9}}+"


_LATIN_NOUNS = (
    r"(?:instru(?:cciones|coes)|istruzioni|indicaciones|indicacoes|indicazioni|directrices|orientacoes|diretrizes"
    r"|reglas|regras|regole|ordenes|ordens)"
)
_LATIN = (
    r"\b(?:ignor(?:a|ad|ate|e|en|em)|olvid(?:a|ad|e|en)|descart[ae]|desestim[ae]|omit[ae]|ha(?:z|ga|gan) caso omiso de"
    r"|no (?:sigas|obedezcas|siga)|esquec[ae]|desconsider[ae]|nao (?:siga|sigas|obedeca)|dimentica|trascura)\b"
    rf"(?:{gap(4)}(?:{_LATIN_NOUNS}(?: \w{{1,12}}){{0,2}}? (?:anteriores|previas|precedentes|precedenti|recibidas"
    r"|recebidas|dadas|acima|d[eo]l? sistema|de arriba)\b"
    rf"|(?:tus|suas|tuas|tue|vuestras|anteriores|previas|precedenti) (?:\w{{1,15}} )?{_LATIN_NOUNS}\b)"
    r"|(?: por favor)? (?:todo lo|tudo o|tudo que|tutto cio) (?:anterior|que|che|veio|foi|acima))"
)
_FRENCH_NOUNS = r"(?:instructions|consignes|directives|regles|messages)"
_FRENCH = (
    r"\b(?:ignore[zr]?|oublie[zr]?|neglige[zr]?|contourne[zr]?|ne (?:tiens|tenez) (?:pas|plus|aucun) compte"
    rf"|fai(?:s|tes) abstraction|ne (?:suis|suivez|respecte[zr]?) (?:pas|plus))\b{gap(3)}"
    rf"(?:{_FRENCH_NOUNS}(?: \w{{1,12}}){{0,2}}? (?:precedent|anterieur|ci-dessus|recues|donnees|du systeme|systeme)"
    rf"|(?:tes|vos|precedentes|anciennes) (?:\w{{1,15}} )?{_FRENCH_NOUNS}\b|tout ce qui precede\b)"
)
_GERMAN = (
    rf"\b(?:ignoriere|ignorieren|vergiss|vergesst|vergessen|missachten?|beachten?|befolgen?|negeer|vergeet)\b{gap(3)}"
    r"(?:vorherige|bisherige|vorige|obige|fruhere|vorangegangene|vorhergehende|deine|ihre|eure|eerdere|bovenstaande"
    rf"|voorgaande)[nrs]?{gap(2)}(?:anweisung|instru[kc]t|regel|befehl|vorgabe|richtlinie|aufforderung)"
)
_RUSSIAN = (
    r"\b(?:(?:про)?игнорируи(?:те)?|забудь(?:те)?|отбрось(?:те)?|не (?:обращаи(?:те)? внимания на|следуи(?:те)?"
    rf"|выполняи(?:те)?)|(?:про)?ігноруи(?:те)?)\b{gap(3)}"
    r"(?:предыдущ|прежн|вышеуказан|вышестоящ|вышеперечисленн|ранее|свои|твои|ваши|системн|попередн)\w{0,10}"
    rf"{gap(2)}(?:инструкц|указани|правил|команд|подсказ|промпт|директив|інструкц|вказівк)"
)
_CHINESE = (
    r"(?:忽略|忽視|忽视|无视|無視|忘记|忘掉|忘記|不要理会|不要理會|不用理会|不要遵守|不再遵守|抛弃|不要管)"
    r"(?:掉|你|所有|全部|一切|任何|的|在|了|请){0,5}"
    r"(?:之前|以前|先前|上述|以上|前面|此前|上面|早先|你的|系统|系統|既有|原有)"
    r"(?:的|所有|全部|任何|一切|系统|系統|给出|给你|收到|那些|这些|对话|用户|安全|预设|初始){0,5}"
    r"(?:指令|指示|提示词|提示詞|提示(?!框|音|信息|符)|规则|規則|命令|约束|限制|设定|設定|要求|内容|內容|对话|對話)"
)
_JAPANESE = (
    r"(?:以前|これまで|今まで|前|上記|上|先|すべて|全て|全部|あらゆる|システム|あなた)"
    r"(?:に|で|の|まで|与えられた|すべて|全て|全部|受けた|あなた){0,5}"
    r"(?:指示|命令|プロンプト|ルール|指令|規則|制約|会話)(?:を|は|について)?(?:すべて|全て|全部|完全に|一切){0,2}"
    r"(?:無視(?:して|し[ろな、]|せよ|すること|しなさい)|忘れ(?:て|ろ|なさい|、)|破棄して|従わないで|従うな)"
)
_KOREAN = (
    r"(?:이전|위|앞|기존|시스템|지금까지|모든)(?:의|에|서|까지|모든|받은| ){0,6}"
    r"(?:지시|명령|지침|프롬프트|규칙)(?:사항|들)?(?:을|를|은|는)?(?: |모두|전부|다|완전히){0,4}"
    r"(?:무시(?:해|하[고라세십]|하여)|잊(?:어|으세요|고))"
)
_ARABIC = (
    r"(?:تجاهل|انس|انسى)(?:ي|وا)? (?:جميع |كل |كافة )?"
    r"(?:التعليمات|الأوامر|الاوامر|التوجيهات|القواعد) (?:السابقة|أعلاه|اعلاه)"
)

# Stems of the verbs and of the nouns, one of each of which a text must hold to be searched; then the expression.
FOREIGN_OVERRIDES: tuple[tuple[str, str, str], ...] = (
    (
        "ignor olvid descart desestim omit caso sig obede esquec desconsider dimentica trascura",
        "instruc instruco istruzioni indica directrices diretrizes orienta regl regr regol orden anterior tudo tutto",
        _LATIN,
    ),
    (
        "ignor oubli neglig contourn compte abstraction respect sui",
        "instructions consigne directive regle precede",
        _FRENCH,
    ),
    (
        "ignorier verg missacht beacht befolg negeer",
        "anweisung instru regel befehl vorgabe richtlin aufforder",
        _GERMAN,
    ),
    (
        "игнор забуд отброс обращ следу выполн ігнор",
        "инструкц указани правил команд подсказ промпт директив інструкц вказівк",
        _RUSSIAN,
    ),
    ("忽 无视 無視 忘 不", "指 提示 规则 規則 命令 约束 限制 设定 設定 要求 内容 內容 对话 對話", _CHINESE),
    ("無視 忘れ 破棄 従", "指示 命令 プロンプト ルール 指令 規則 制約 会話", _JAPANESE),
    ("무시 잊", "지시 명령 지침 프롬프트 규칙", _KOREAN),
    ("تجاهل انس", "السابقة أعلاه اعلاه", _ARABIC),
    ("bo", "qua", r"\bbo qua (?:\w{1,6} ){0,3}(?:huong dan|chi dan|lenh|chi thi) (?:\w{1,6} ){0,2}?(?:truoc|o tren)"),
    ("abaikan", "i", r"\babaikan (?:\w{1,8} ){0,2}(?:instruksi|perintah|petunjuk) (?:\w{1,8} )?(?:sebelumnya|di atas)"),
    ("onceki", "i", r"\bonceki (?:tum )?(?:talimat|komut|yonerge)\w{0,8} (?:yok say|unut|gormezden gel|dikkate alma)"),
    (
        "ignoruj zapomnij",
        "instrukc polece",
        r"\b(?:zignoruj|ignoruj|zapomnij)(?: o)?(?: \w{1,12}){0,2}"
        r" (?:poprzedni|wczesniejsz)\w{1,3} (?:instrukc|polece)",
    ),
    ("अनदेखा भूल", "निर्देश आदेश", r"(?:पिछले|पूर्व|पहले के|उपरोक्त)(?: सभी)? (?:निर्देश|आदेश)\S{0,6} (?:को )?(?:अनदेखा|भूल)"),
)
