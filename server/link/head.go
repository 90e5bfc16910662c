package link

import "curt/storage"

// Head is what a store knows besides its links, without any key: what a copy needs so that ids and codes mean the same there.
type Head struct {
	Epochs   [][]byte          // rows as codec.Epoch.AppendBinary writes them, oldest first
	Counters map[string]uint64 // of all segments
	Settings map[string]string // last asked for
}

// ReadHead reads it from a store.
func ReadHead(store *storage.Store) (h Head, err error) {
	if h.Epochs, err = store.Epochs(); err != nil {
		return h, err
	}
	if h.Counters, err = store.Counters(""); err != nil {
		return h, err
	}
	h.Settings = map[string]string{}
	for _, name := range []string{settingKey, settingLength, settingAlphabet, settingActive, settingLeast} {
		value, ok, err := store.Setting(name)
		if err != nil {
			return h, err
		}
		if ok {
			h.Settings[name] = value
		}
	}
	return h, nil
}
